/** Lists that come page by page, read as one. */

export type Page<Item> = { data: Item[]; pagination: { page: number; total_pages: number } };

/** Every item of every page; a page is asked for when its first item is. */
export async function* allPages<Item>(
  read: (page: number) => Promise<Page<Item>>,
): AsyncGenerator<Item, void, undefined> {
  for (let page = 1; ; page++) {
    const { data, pagination } = await read(page);
    yield* data;
    if (page >= pagination.total_pages) return;
  }
}
