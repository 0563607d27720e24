/** The series of the chart of clicks over time, and the placement of its labels. */

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
