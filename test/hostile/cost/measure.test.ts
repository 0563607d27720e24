/** Goal: the cost guard measures what an input costs, and finds what grows faster than it. */
import { expect, setDefaultTimeout, test } from "bun:test";

import { listUnmeasured } from "./guard.ts";
import { isSuperlinear, readTreeMs, type Sample, SHARES } from "./measure.ts";
import { coverLevels, coverPairs } from "./pairs.ts";

const BYTES = 16_000;

type Work = (share: number) => number;

const linear =
  (ms: number): Work =>
  (share) =>
    8 + share * ms;
const quadratic =
  (ms: number): Work =>
  (share) =>
    1 + share ** 2 * ms;
const BYTES_OF_SHARE: Work = (share) => share * BYTES;

test.each<[string, Work[], isFound: boolean, bytesOf?: Work]>([
  [
    "linear work on top of constant work, whatever it costs",
    [1, 10, 100, 1_000].map(linear),
    false,
  ],
  ["quadratic work that can be told from noise", [20, 100, 1_000].map(quadratic), true],
  [
    "work in proportion to bytes that grow with the square of the share",
    [quadratic(100)],
    false,
    (share) => share ** 2 * BYTES,
  ],
  ["cheap work", [(share) => share ** 2 * 4.9], false],
  ["an input of the same size at every share", [quadratic(100)], false, () => BYTES],
  ["a single slow sample of cheap work", [(share) => (share === 1 ? 6 : 1)], false],
])("%s", (_, works, isFound, bytesOf = BYTES_OF_SHARE) => {
  for (const work of works) {
    const sample = (share: number): Sample => ({ bytes: bytesOf(share), cpuMs: work(share) });
    expect(isSuperlinear([sample(SHARES[0]), sample(SHARES[1]), sample(SHARES[2])])).toBe(isFound);
  }
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
