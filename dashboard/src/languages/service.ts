/** What the API calls its fields and says, which is English, in the language of the page. */
import { fallbackCatalogue, type TextKey } from "./catalogues.ts";
import { getLanguage, t } from "./translate.ts";

const KEYS: ReadonlyMap<string, TextKey> = new Map(
  Object.entries(fallbackCatalogue.service).map(([name, sentence]) => [
    sentence,
    // Object.entries loses the type of the names.
    `service.${name}` as TextKey,
  ]),
);

/** What is wrong with the value of a field, whose name in the API no language has. */
const INVALID = /^Invalid value for "([^"]+)": (.+)\.$/s;

/** Sentences that name what they are about. */
const PATTERNS: readonly (readonly [RegExp, (name: string, rest: string) => string])[] = [
  [/^The alias "([^"]+)" is already in use\.$/, (alias) => t("data.aliasTaken", { alias })],
  [/^The alias "([^"]+)" is reserved\.$/, (alias) => t("data.aliasReserved", { alias })],
  [/^(\S+) is required\.$/, (param) => t("data.required", { field: fieldName(param) })],
  [/^Unknown field "([^"]+)"/, (param) => t("data.unknownField", { field: fieldName(param) })],
  [/^must have at most (\d+) characters$/, (max) => t("data.textMax", { max })],
  [/^must have (\d+) characters at least$/, (min) => t("ui.rule.charactersMin", { min })],
  [/^must have at most (\d+) entr(?:y|ies)$/, (max) => t("data.listMax", { max })],
  [/^must be text$/, () => t("data.text")],
  [/^must be a number$/, () => t("data.number")],
  [/^must be a whole number$/, () => t("data.wholeNumber")],
  [/^must be at most (\d+)$/, (max) => t("data.numberMax", { max })],
  [/^must be at least (\d+)$/, (min) => t("data.numberMin", { min })],
  [/^must be one of (.+)$/, (values) => t("data.mustBeOneOf", { values })],
  [
    /^Rate limit exceeded: .*\(bulk_rows: ([\d,]+) rows .* Try again in (\d+) seconds?\.$/,
    (rows, seconds) => t("data.bulkRows", { rows, seconds }),
  ],
  [/^Rate limit exceeded: /, () => t("data.rateLimited")],
  [/^Quota (\w+) exceeded: /, (name) => t("data.quotaExceeded", { quota: fieldName(name) })],
  [/ does not exist\.$/, () => t("data.notFound")],
];

/** Translates a message. One that is not known stays as it is: it says more than none. */
export function translateService(message: string): string {
  const [, param, problem] = INVALID.exec(message) ?? [];
  if (param !== undefined && problem !== undefined) {
    const field = fieldName(param);
    return t("data.invalidValue", { param: field, problem: translateService(problem) });
  }
  if (getLanguage() === "en") return message;
  const key = KEYS.get(message);
  if (key !== undefined) return t(key);
  for (const [pattern, translate] of PATTERNS) {
    const match = pattern.exec(message);
    if (match !== null) return translate(match[1] ?? "", match[2] ?? "");
  }
  return message;
}

/** What the fields of the API are called on the page. */
const FIELD_KEYS: ReadonlyMap<string, TextKey> = new Map(
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
    const key = FIELD_KEYS.get(part);
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
