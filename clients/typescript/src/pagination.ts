/** Iterates over paginated lists. */

export type Page<Item> = { data: Item[]; pagination: { page: number; total_pages: number } };

/** Yields every item of every page. Fetches a page when the iteration reaches its first item. */
export async function* iteratePages<Item>(
  fetchPage: (page: number) => Promise<Page<Item>>,
): AsyncGenerator<Item, void, undefined> {
  for (let page = 1; ; page++) {
    const { data, pagination } = await fetchPage(page);
    yield* data;
    if (page >= pagination.total_pages) return;
  }
}
