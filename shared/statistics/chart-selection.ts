/** Which point of a chart the pointer and the arrow keys select, by its index. */

/** The point closest to a position across the plot: 0 is its left edge, 1 its right one. */
export const findNearest = (position: number, points: number): number =>
  Math.min(points - 1, Math.max(0, Math.round(position * (points - 1))));

/** The point that an arrow key selects after `selected`; undefined for other keys. */
export function moveSelection(
  key: string,
  selected: number | undefined,
  points: number,
): number | undefined {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
  if (step === undefined) return undefined;
  const current = selected ?? (step > 0 ? -1 : points);
  return Math.min(points - 1, Math.max(0, current + step));
}

/** Where a point is across the plot, from 0 to 1. A single point is in the middle. */
export const positionOf = (i: number, points: number): number =>
  points === 1 ? 0.5 : i / (points - 1);
