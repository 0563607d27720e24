/** What the chart of clicks over time shows of its points, and how it is labelled. */

export type Point = { date: string; clicks: number; unique: number; unfinished?: true | undefined };

/** The points up to now: those of days or hours to come are left out. */
export function untilNow(points: readonly Point[]): readonly Point[] {
  const current = points.findIndex(({ unfinished }) => unfinished);
  return current < 0 ? points : points.slice(0, current + 1);
}

/** The points that are drawn as a whole line. The last one of points up to now may not be over: it would seem a fall. */
export const finishedOf = (points: readonly Point[]): readonly Point[] =>
  points.at(-1)?.unfinished ? points.slice(0, -1) : points;

/** The points of the dotted line: from the last that is over to the one that is not; none if all are over. */
export const unfinishedOf = (points: readonly Point[]): readonly Point[] =>
  points.at(-1)?.unfinished ? points.slice(-2) : [];

/** Half the width of the widest label, in pixels. */
const LABEL_HALF = 24;

/** How a label is placed at a point, both in pixels, so that the edges do not clip it. */
export function anchorOf(x: number, width: number): "start" | "middle" | "end" {
  if (x < LABEL_HALF) return "start";
  return x > width - LABEL_HALF ? "end" : "middle";
}
