/** Finds the requests that most of a page waits for, by the page's path. */
import { type AccountScope, getBasePath } from "../data/scope.ts";
import { countsPath, readAnalyticsQuery, type Subject } from "../pages/analytics/analytics-path.ts";
import { only } from "../pages/analytics/filters.ts";
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
