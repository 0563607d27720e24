/** Goal: the cost guard measures what an input costs, and finds what grows faster than it. */
import { expect, setDefaultTimeout, test } from "bun:test";

import { isSuperlinear, readTreeMs, type Sample, SHARES } from "./measure.ts";
import { coverLevels, coverPairs } from "./pairs.ts";
import { listUnmeasured } from "./table.ts";

const BYTES = 16_000;

function isFound(work: (share: number) => number, bytesOf = (share: number) => share * BYTES) {
  const sample = (share: number): Sample => ({ bytes: bytesOf(share), cpuMs: work(share) });
  return isSuperlinear([sample(SHARES[0]), sample(SHARES[1]), sample(SHARES[2])]);
}

test("linear work on top of constant work is accepted, whatever it costs", () => {
  for (const ms of [1, 10, 100, 1_000]) expect(isFound((share) => 8 + share * ms)).toBe(false);
});

test("quadratic work is found once it can be told from the noise of a few milliseconds", () => {
  for (const ms of [20, 100, 1_000])
    expect(
      isFound((share) => 1 + share ** 2 * ms),
      `${ms}`,
    ).toBe(true);
});

test("work in proportion to bytes is accepted when bytes grow with the square of the share", () => {
  expect(
    isFound(
      (share) => 1 + share ** 2 * 100,
      (share) => share ** 2 * BYTES,
    ),
  ).toBe(false);
});

test("cheap work is not judged by its growth", () => {
  expect(isFound((share) => share ** 2 * 4.9)).toBe(false);
});

test("an input of the same size at every share is not judged by its growth", () => {
  expect(
    isFound(
      (share) => share ** 2 * 100,
      () => BYTES,
    ),
  ).toBe(false);
});

test("a single slow sample of cheap work is accepted", () => {
  expect(isFound((share) => (share === 1 ? 6 : 1))).toBe(false);
});

// The machine may be busy.
setDefaultTimeout(60_000);

/** Counts, says so, and waits until its input ends. */
const COUNT = 'i=0; while [ "$i" -lt 200000 ]; do i=$((i+1)); done; echo counted; read -r _';

test("the time of a child is in that of its parent, and that of a process that has ended is nothing", async () => {
  await using parent = Bun.spawn(["sh", "-c", `sh -c '${COUNT}'; true`], {
    stdin: "pipe",
    stdout: "pipe",
  });
  await parent.stdout.getReader().read();
  // The parent itself has only started it.
  expect(readTreeMs(parent.pid)).toBeGreaterThan(20);
  void parent.stdin.end();
  await parent.exited;
  expect(readTreeMs(parent.pid)).toBe(0);
});

test("a route of which a limit refused every input was not measured", () => {
  expect(
    listUnmeasured([
      { target: "refused", status: 429 },
      { target: "refused", status: 429 },
      { target: "refused later", status: 400 },
      { target: "refused later", status: 429 },
    ]),
  ).toEqual(["refused"]);
});

const levels = (count: number): string[] => Array.from({ length: count }, (_, i) => `level ${i}`);

const FACTORS = { a: levels(6), b: levels(4), c: levels(4), d: levels(3), e: levels(2) };

test("every pair of levels of two factors occurs", () => {
  const combinations = coverPairs(FACTORS).map(Object.entries<string>);
  for (const [a, one] of Object.entries(FACTORS))
    for (const [b, other] of Object.entries(FACTORS))
      for (const x of one)
        for (const y of a === b ? [] : other)
          expect(
            combinations.some(
              (entries) =>
                entries.some(([name, level]) => name === a && level === x) &&
                entries.some(([name, level]) => name === b && level === y),
            ),
            `${a} ${x}, ${b} ${y}`,
          ).toBe(true);
});

test("pairs take few of all 576 combinations: at best as many as the two longest factors have pairs", () => {
  expect(coverPairs(FACTORS).length).toBeLessThan(24 * 1.5);
});

test("of a single factor, each level occurs", () => {
  expect(coverPairs({ a: levels(3) })).toEqual(levels(3).map((a) => ({ a })));
});

test("each level occurs in as many combinations as the longest factor has levels", () => {
  const combinations = coverLevels(FACTORS);
  expect(combinations).toHaveLength(6);
  for (const [name, all] of Object.entries(FACTORS))
    expect(new Set(combinations.map((one) => one[name]))).toEqual(new Set(all));
});
