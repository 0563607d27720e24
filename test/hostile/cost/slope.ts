/** Judges how the cost of one input grows with its size. */

/** Shares of the bounds at which an input is measured. */
export const SHARES = [0.25, 0.5, 1] as const;

/** The size of an input in bytes, and the CPU time that it cost in milliseconds. */
export type Sample = { bytes: number; cpuMs: number };

/**
 * Costs up to this are not judged by their growth: an idle process does so much beside, and code
 * that has run seldom is compiled.
 */
export const FLOOR_MS = 5;

/**
 * How much more than in proportion to a quarter, and to half, an input may cost: quadratic work
 * costs 4 and 2 times more.
 */
const QUARTER_TOLERANCE = 1.5;
const HALF_TOLERANCE = 1.25;

/** An input that hardly grows with its share tells nothing. */
const GROWTH_MIN = 1.5;

/**
 * Whether the work grows faster than the input, judging by samples at a quarter, half and all of
 * its bounds.
 */
export function isSuperlinear([quarter, half, full]: readonly [Sample, Sample, Sample]): boolean {
  if (full.bytes < GROWTH_MIN * half.bytes || full.cpuMs <= FLOOR_MS) return false;
  // Constant work makes both larger, so that they are upper bounds of linear work.
  const proportional = ({ bytes, cpuMs }: Sample): number => (cpuMs * full.bytes) / bytes;
  return (
    full.cpuMs > QUARTER_TOLERANCE * proportional(quarter) + FLOOR_MS &&
    full.cpuMs > HALF_TOLERANCE * proportional(half)
  );
}
