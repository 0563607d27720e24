/** Fetches pages of links by cursor. */
import type { ListedLink, ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { type AccountScope, getBasePath, getJson } from "../../data/http.ts";
import { type ListQuery, toApiQuery } from "./list-query.ts";

/** `next` is the cursor of the next page; null at the end of the list. */
export type LinkPage = { links: ListedLink[]; next: string | null };

/**
 * Maximum requests per page. One request examines a bounded number of links, so a page of rare
 * matches can take several.
 */
const REQUESTS_MAX = 10;

/**
 * Fetches the links after a cursor, "" for the start. A page is short at the end of the list, or if
 * matches are so rare that the requests found no more.
 */
export async function fetchLinkPage(
  scope: AccountScope,
  query: ListQuery,
  after: string,
  signal: AbortSignal,
): Promise<LinkPage> {
  const links: ListedLink[] = [];
  let next: string | null = after;
  for (let i = 0; i < REQUESTS_MAX && next !== null && links.length < query.limit; i++) {
    const part: ResponseBody<"listLinks"> = await getJson(`${getBasePath(scope)}/v1/links`, {
      // Includes the fields that determine a link's state.
      query: {
        ...toApiQuery(query),
        include: "settings",
        limit: query.limit - links.length,
        starting_after: next,
      },
      signal,
    });
    links.push(...part.data);
    next = part.next_cursor;
  }
  return { links, next };
}
