import { expect, test } from "bun:test";

import { isSuperlinear, type Sample, SHARES } from "./slope.ts";

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
