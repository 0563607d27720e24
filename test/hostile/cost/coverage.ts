/** Which bounds on input the generators of the cost guard reach. */
import { CALL_PARTS, SCHEMA_BOUNDS } from "./calls.ts";
import type { Parts } from "./part.ts";
import { LINK_BOUNDS, VISITOR_PARTS } from "./visitors.ts";

const listReached = (parts: Parts): string[] =>
  Object.values(parts).flatMap((levels) => Object.values(levels).flatMap(({ reaches }) => reaches));

export const REACHED_BOUNDS: ReadonlySet<string> = new Set([
  ...listReached(VISITOR_PARTS),
  ...listReached(CALL_PARTS),
  ...SCHEMA_BOUNDS,
  ...LINK_BOUNDS,
]);
