/** Iterates over lists. */

/** The response of a list; a numbered page has `pagination`. */
export type ListResponse<Item> = {
  data: Item[];
  next_cursor?: string | null;
  pagination?: { total_pages: number };
};

/** The response of a list that has only cursors. */
export type CursorResponse<Item> = { data: Item[]; next_cursor: string | null };

/** Which part of a list to fetch. */
export type ListPosition = { starting_after: string } | { page: number };

/** The most entries that the API returns at once. */
const LIMIT_MAX = 100;

/**
 * Yields every entry of a list, by cursor: entries that are created or deleted meanwhile neither
 * repeat nor hide others. Fetches the next part when the iteration reaches it. An API without
 * cursors returns numbered pages, which are then followed.
 */
export async function* iterateList<Item>(
  fetchPart: (query: ListPosition & { limit: number }) => Promise<ListResponse<Item>>,
  limit = LIMIT_MAX,
): AsyncGenerator<Item, void, undefined> {
  let position: ListPosition = { starting_after: "" };
  for (let page = 1; ; page++) {
    const { data, next_cursor, pagination } = await fetchPart({ ...position, limit });
    yield* data;
    if (next_cursor === null) return;
    if (next_cursor !== undefined) position = { starting_after: next_cursor };
    else if (page < (pagination?.total_pages ?? 0)) position = { page: page + 1 };
    else return;
  }
}

/**
 * Yields every entry of a list that has only cursors. Fetches the next part when the iteration
 * reaches it.
 */
export async function* followCursor<Item>(
  fetchPart: (query: { starting_after?: string }) => Promise<CursorResponse<Item>>,
): AsyncGenerator<Item, void, undefined> {
  for (let position: { starting_after?: string } = {}; ;) {
    const { data, next_cursor } = await fetchPart(position);
    yield* data;
    if (next_cursor === null) return;
    position = { starting_after: next_cursor };
  }
}
