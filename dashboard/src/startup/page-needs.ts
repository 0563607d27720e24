/**
 * What a page needs first, by its path: the requests that most of it waits for, and the modules
 * that it loads with `import()`, beside the application.
 */
import { type AccountScope, getBasePath } from "../data/scope.ts";
import {
  countsPath,
  only,
  readAnalyticsQuery,
  type Subject,
} from "../pages/analytics/analytics-path.ts";
import { listPath, readListQuery } from "../pages/links/list-query.ts";

/** The paths of a page's first requests to the API; none for pages that have none. */
export function pathsOfFirstRequests({
  pathname,
  search,
}: {
  pathname: string;
  search: string;
}): string[] {
  const [, account = "", mode, page = "", name] =
    /^\/(acct_\w+)\/(live|test)\/(links|analytics|tags|domains)(?:\/([^/]+))?$/.exec(pathname) ??
    [];
  if (mode !== "live" && mode !== "test") return [];
  const scope: AccountScope = { account, mode };
  const params = new URLSearchParams(search);
  const counts = (subject?: Subject) => countsPath(readAnalyticsQuery(scope, params, subject));
  if (page === "analytics") return name === undefined ? [counts()] : [];
  if (page === "tags" || page === "domains") {
    const value = decodeSegment(name);
    const filter = page === "tags" ? "tag" : "domain";
    return value === undefined ? [] : [counts({ subject: only(filter, value) })];
  }
  if (name === undefined) {
    const query = readListQuery(params);
    return [listPath(scope, query, query.limit, params.get("after") ?? "")];
  }
  return /^link_\w+$/.test(name)
    ? [`${getBasePath(scope)}/v1/links/${name}?include=settings`, counts({ link: name })]
    : [];
}

function decodeSegment(segment: string | undefined): string | undefined {
  try {
    return segment === undefined ? undefined : decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

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
export function modulesOf(path: string, language: string): readonly string[] {
  if (/^\/(invite\/|forgot-password$|reset-password\/)/.test(path))
    return [...textsOf(language), ADMINISTRATION];
  const [, page = ""] = /^\/[^/]+\/(?:live|test)\/(.*)$/.exec(path) ?? [];
  const [, ...modules] = MODULES.find(([pattern]) => pattern.test(page)) ?? [];
  return [...textsOf(language), ...modules];
}

/** The catalogues of a language; English is part of the application. */
const textsOf = (language: string): readonly string[] =>
  language === "en"
    ? []
    : [`dashboard/src/languages/${language}.json`, `shared/languages/statistics/${language}.json`];
