/** The request that most of a page waits for. */
import { type AccountScope, getBasePath } from "../data/scope.ts";
import { listPath } from "../pages/links/list-path.ts";
import { readListQuery } from "../pages/links/list-query.ts";

/** The path of a page's first request to the API; undefined for pages that have none. */
export function pathOfFirstRequest({
  pathname,
  search,
}: Pick<Location, "pathname" | "search">): string | undefined {
  const [, account = "", mode, id] =
    /^\/(acct_\w+)\/(live|test)\/links(?:\/(link_\w+))?$/.exec(pathname) ?? [];
  if (mode !== "live" && mode !== "test") return undefined;
  const scope: AccountScope = { account, mode };
  if (id !== undefined) return `${getBasePath(scope)}/v1/links/${id}`;
  const params = new URLSearchParams(search);
  const query = readListQuery(params);
  return listPath(scope, query, query.limit, params.get("after") ?? "");
}
