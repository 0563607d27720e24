/** Completes the last tag of a text of tags that are separated by commas. */
import { readTags } from "./bulk.ts";

/** Maximum completions that a field offers. */
const OPTIONS_MAX = 20;

/**
 * Returns the texts that a text of tags can become by its last tag: known ones that contain it,
 * those that begin with it first, and none that the text has already.
 */
export function completeTags(text: string, known: readonly string[]): string[] {
  const end = text.lastIndexOf(",") + 1;
  const before = text.slice(0, end);
  const typed = text.slice(end).trim().toLowerCase();
  const present = new Set(readTags(before));
  // A tag with a comma cannot be written in such a text.
  const matching = known.filter(
    (name) => name.toLowerCase().includes(typed) && !present.has(name) && !name.includes(","),
  );
  const begins = (name: string): boolean => name.toLowerCase().startsWith(typed);
  return [...matching.filter(begins), ...matching.filter((name) => !begins(name))]
    .slice(0, OPTIONS_MAX)
    .map((name) => (before === "" ? name : `${before} ${name}`));
}
