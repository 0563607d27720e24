/** What the API and its schemas say, which is English, in the language of the page. */
import { fallbackCatalogue, type TextKey } from "./catalogues.ts";
import { getLanguage, t } from "./translate.ts";

const KEYS: ReadonlyMap<string, TextKey> = new Map(
  Object.entries(fallbackCatalogue.service).map(([name, sentence]) => [
    sentence,
    // Object.entries loses the type of the names.
    `service.${name}` as TextKey,
  ]),
);

/** Sentences that name what they are about. */
const PATTERNS: readonly (readonly [RegExp, (name: string, rest: string) => string])[] = [
  [/^The alias "([^"]+)" is already in use\.$/, (alias) => t("data.aliasTaken", { alias })],
  [/^The alias "([^"]+)" is reserved\.$/, (alias) => t("data.aliasReserved", { alias })],
  [
    /^Invalid value for "([^"]+)": (.+)\.$/s,
    (param, problem) => t("data.invalidValue", { param, problem: translateService(problem) }),
  ],
  [/^must be one of (.+)$/, (values) => t("data.mustBeOneOf", { values })],
  [
    /^Rate limit exceeded: .*\(bulk_rows: ([\d,]+) rows .* Try again in (\d+) seconds?\.$/,
    (rows, seconds) => t("data.bulkRows", { rows, seconds }),
  ],
  [/^Rate limit exceeded: /, () => t("data.rateLimited")],
  [/^Quota (\w+) exceeded: /, (quota) => t("data.quotaExceeded", { quota })],
  [/ does not exist\.$/, () => t("data.notFound")],
];

/** Translates a message. One that is not known stays as it is: it says more than none. */
export function translateService(message: string): string {
  if (getLanguage() === "en") return message;
  const key = KEYS.get(message);
  if (key !== undefined) return t(key);
  for (const [pattern, translate] of PATTERNS) {
    const match = pattern.exec(message);
    if (match !== null) return translate(match[1] ?? "", match[2] ?? "");
  }
  return message;
}
