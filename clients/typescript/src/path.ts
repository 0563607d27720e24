/** Builds paths from ids that a program may have from anywhere. */
import { ShorthopError } from "./errors.ts";

/**
 * A template of a path: encodes each id as one segment. Throws `invalid_argument` for an empty id,
 * and for `.` and `..`, which a URL would resolve to another path.
 */
export function path(strings: TemplateStringsArray, ...ids: readonly string[]): string {
  return strings.reduce((start, text, i) => start + encodeSegment(ids[i - 1] ?? "") + text);
}

function encodeSegment(id: string): string {
  if (typeof id !== "string" || id === "" || id === "." || id === "..") {
    const message = `An id must be a non-empty text, not ${JSON.stringify(id)}.`;
    throw new ShorthopError(0, "invalid_argument", message);
  }
  return encodeURIComponent(id);
}
