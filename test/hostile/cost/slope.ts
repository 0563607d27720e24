/** Judges the cost of one input: its budget, and how it grows. */

/** Shares of the bounds at which an input is measured. */
export const SHARES = [0.25, 0.5, 1] as const;

/** CPU time in milliseconds at the three shares. */
export type Costs = readonly [quarter: number, half: number, full: number];

/**
 * Costs up to this are not judged by their growth: an idle process does so much beside, and code that has run seldom is
 * compiled.
 */
export const FLOOR_MS = 5;

/**
 * Most growth from half to all of an input, as a multiple of that from a quarter to half. It is 2 for linear work, 4 for
 * quadratic; what does not depend on the size has no part in it.
 */
const GROWTH_MAX = 3;

/** Whether the work grows faster than the input. */
export const isSuperlinear = ([quarter, half, full]: Costs): boolean =>
  full > FLOOR_MS && full - half > GROWTH_MAX * Math.max(0, half - quarter) + FLOOR_MS;
