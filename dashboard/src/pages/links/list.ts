/** Fetches pages of links by cursor. */
import type { ListedLink, Query, ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { type AccountScope, getBasePath, getJson } from "../../data/http.ts";

export type ListQuery = Pick<Query<"listLinks">, "search" | "tag" | "domain" | "archived"> & {
  sort: "created_at" | "clicks";
  order: "asc" | "desc";
};

/** `next` is the cursor of the next page; null at the end of the list. */
export type LinkPage = { links: ListedLink[]; next: string | null };

/** Links of a page. */
const PAGE_SIZE = 20;

/** One request examines a bounded number of links, so a page of rare matches can take several. */
const REQUESTS_MAX = 10;

/**
 * Fetches the links that follow a cursor, "" for the start. A page is short at the end of the list, and when so few links
 * match that the requests met no more.
 */
export async function fetchLinkPage(
  scope: AccountScope,
  query: ListQuery,
  after: string,
  signal: AbortSignal,
): Promise<LinkPage> {
  const links: ListedLink[] = [];
  let next: string | null = after;
  for (let i = 0; i < REQUESTS_MAX && next !== null && links.length < PAGE_SIZE; i++) {
    const part: ResponseBody<"listLinks"> = await getJson(`${getBasePath(scope)}/v1/links`, {
      // With what says in which state a link is.
      query: {
        ...query,
        include: "settings",
        limit: PAGE_SIZE - links.length,
        starting_after: next,
      },
      signal,
    });
    links.push(...part.data);
    next = part.next_cursor;
  }
  return { links, next };
}
