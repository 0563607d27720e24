/** Finds the modules that a page loads with `import()`, beside the application. */
import type { Language } from "../languages/preference.ts";

const ADMINISTRATION = "dashboard/src/pages/administration.ts";
const STATISTICS = "dashboard/src/pages/statistics.ts";
const MAP = "shared/statistics/world-map.tsx";

/** Modules by the part of a page's path behind account and mode. */
const MODULES: readonly (readonly [path: RegExp, ...modules: string[]])[] = [
  [/^links\/import$/, "dashboard/src/pages/links/import/import-page.tsx"],
  [/^links\/[^/]+\/rules$/, "dashboard/src/pages/rules/rules-page.tsx"],
  [/^(links\/[^/]+|analytics|(tags|domains)\/.+)$/, STATISTICS, MAP],
  [/^(live|tags)$/, STATISTICS],
  [/^(domains|usage|activity|webhooks|reports|settings)\b/, ADMINISTRATION],
];

/** The modules of a page and of its language, by their paths in the project. */
export function modulesOf(path: string, language: Language): readonly string[] {
  if (/^\/(invite\/|forgot-password$|reset-password\/)/.test(path))
    return [...textsOf(language), ADMINISTRATION];
  const [, page = ""] = /^\/[^/]+\/(?:live|test)\/(.*)$/.exec(path) ?? [];
  const [, ...modules] = MODULES.find(([pattern]) => pattern.test(page)) ?? [];
  return [...textsOf(language), ...modules];
}

/** The catalogues of a language; English is part of the application. */
const textsOf = (language: Language): readonly string[] =>
  language === "en"
    ? []
    : [`dashboard/src/languages/${language}.json`, `shared/languages/statistics/${language}.json`];
