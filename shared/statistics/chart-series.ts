/**
 * The series of the chart of clicks over time, the placement of its labels, and the point that is
 * selected.
 */

export type Point = { date: string; clicks: number; unique: number; unfinished?: true | undefined };

/** The points up to now, without future days or hours. */
export function untilNow(points: readonly Point[]): readonly Point[] {
  const current = points.findIndex(({ unfinished }) => unfinished);
  return current < 0 ? points : points.slice(0, current + 1);
}

/**
 * The points of the solid line. If the range ends now, the last one is unfinished and excluded: it
 * would look like a decline.
 */
export const finishedOf = (points: readonly Point[]): readonly Point[] =>
  points.at(-1)?.unfinished ? points.slice(0, -1) : points;

/**
 * The points of the dotted line: from the last finished one to the unfinished one; none if all are
 * finished.
 */
export const unfinishedOf = (points: readonly Point[]): readonly Point[] =>
  points.at(-1)?.unfinished ? points.slice(-2) : [];

/** The part of the plot at either edge in which a centred label would be clipped. */
const EDGE = 0.04;

/** The alignment of a label by its position, from 0 to 1, so that the edges do not clip it. */
export function anchorOf(position: number): "start" | "middle" | "end" {
  if (position < EDGE) return "start";
  return position > 1 - EDGE ? "end" : "middle";
}

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

/** The position of a point across the plot, from 0 to 1. A single point is in the middle. */
export const positionOf = (i: number, points: number): number =>
  points === 1 ? 0.5 : i / (points - 1);
