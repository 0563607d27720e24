/** What the fields of the API are called on the page. */
import { fallbackCatalogue, type TextKey } from "./catalogues.ts";
import { t } from "./translate.ts";

const KEYS: ReadonlyMap<string, TextKey> = new Map(
  Object.keys(fallbackCatalogue.fields).map((name) => [
    name,
    // Object.keys loses the type of the names.
    `fields.${name}` as TextKey,
  ]),
);

/**
 * The name of a field by its path: `tags.0` is the first of the tags, and `preview.image` is the
 * image of the preview. A path that the page does not know stays as it is.
 */
export function fieldName(path: string): string {
  const parts = path.split(".");
  const names = parts.map((part) => {
    if (/^\d+$/.test(part)) return String(Number(part) + 1);
    const key = KEYS.get(part);
    return key === undefined ? undefined : t(key);
  });
  const [first] = names;
  if (first === undefined || /^\d/.test(first)) return path;
  // What is within a rule or a card may have a name that only its schema knows.
  return names
    .filter((name) => name !== undefined)
    .join(" › ")
    .replaceAll(/ › (\d+)/g, " $1");
}
