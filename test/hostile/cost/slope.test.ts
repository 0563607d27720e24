import { expect, test } from "bun:test";

import { type Costs, isSuperlinear, SHARES } from "./slope.ts";

const costsOf = (work: (share: number) => number): Costs => [
  work(SHARES[0]),
  work(SHARES[1]),
  work(SHARES[2]),
];

test("linear work on top of constant work is accepted, whatever it costs", () => {
  for (const ms of [1, 10, 100, 1_000])
    expect(isSuperlinear(costsOf((share) => 8 + share * ms))).toBe(false);
});

test("quadratic work is found once it can be told from the noise of a few milliseconds", () => {
  for (const ms of [30, 100, 1_000])
    expect(isSuperlinear(costsOf((share) => 3 + share ** 2 * ms)), `${ms}`).toBe(true);
});

test("cheap work is not judged by its growth", () => {
  expect(isSuperlinear([0.1, 0.5, 4.9])).toBe(false);
});

test("work of one size beside the input's is accepted", () => {
  expect(isSuperlinear([3, 7, 4])).toBe(false);
  expect(isSuperlinear([2, 2, 6])).toBe(false);
});
