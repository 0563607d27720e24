/** Fetches pages of links by cursor. */
import type { Link, ResponseBody } from "../../../../clients/typescript/src/index.ts";
import { getJson } from "../../data/http.ts";
import type { AccountScope } from "../../data/scope.ts";
import { listPath } from "./list-path.ts";
import type { ListQuery } from "./list-query.ts";

/**
 * `next` is the cursor of the next page; null at the end of the list. `fetchedAt` is when it was
 * complete, in Unix milliseconds of this device.
 */
export type LinkPage = { links: Link[]; next: string | null; fetchedAt: number };

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
  const links: Link[] = [];
  let next: string | null = after;
  for (let i = 0; i < REQUESTS_MAX && next !== null && links.length < query.limit; i++) {
    const path = listPath(scope, query, query.limit - links.length, next);
    const part: ResponseBody<"listLinks"> = await getJson(path, { signal });
    links.push(...part.data);
    next = part.next_cursor;
  }
  return { links, next, fetchedAt: Date.now() };
}

/** Most links that can be selected at once: each is kept, and sent with its change. */
export const MATCHING_MAX = 10_000;

/** Links of one request, the API's maximum. */
const PART_SIZE = 100;

/** Fetches the links that match, up to the maximum; calls a function with how many there are. */
export async function fetchMatching(
  scope: AccountScope,
  query: ListQuery,
  onProgress: (count: number) => void,
): Promise<{ links: Link[]; isComplete: boolean }> {
  const links: Link[] = [];
  let next: string | null = "";
  while (next !== null && links.length < MATCHING_MAX) {
    const size = Math.min(PART_SIZE, MATCHING_MAX - links.length);
    const part: ResponseBody<"listLinks"> = await getJson(listPath(scope, query, size, next));
    links.push(...part.data);
    next = part.next_cursor;
    onProgress(links.length);
  }
  return { links, isComplete: next === null };
}
