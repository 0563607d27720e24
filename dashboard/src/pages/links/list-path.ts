/** The path of the API's list of links. */
import { type AccountScope, getBasePath, toSearch } from "../../data/scope.ts";
import { type ListQuery, toApiQuery } from "./list-query.ts";

/** The path of a request for links after a cursor, "" for the start. */
export const listPath = (
  scope: AccountScope,
  query: ListQuery,
  limit: number,
  after: string,
): string =>
  // Includes the fields that determine a link's state.
  `${getBasePath(scope)}/v1/links?${toSearch({
    ...toApiQuery(query),
    include: "settings",
    limit,
    starting_after: after,
  })}`;
