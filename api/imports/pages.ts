/** Reads a source page by page, and works on two at once. */
import type { Cursor, Page } from "./source.ts";

/** Most bytes of a cursor, and most pages without rows in a row: a source may have no end. */
const CURSOR_BYTES_MAX = 1024;
const EMPTY_PAGES_MAX = 1_000;

/**
 * The pages of a source after a cursor; the next one is read while one is worked on. Throws for a
 * source that does not advance.
 */
export async function* pagesOf<Read extends Page<unknown>>(
  read: (after: Cursor | null) => Promise<Read>,
  after: Cursor | null,
): AsyncGenerator<Read> {
  let [cursor, empty] = [JSON.stringify(after), 0];
  for (let reading = read(after); ;) {
    const page = await reading;
    const next = JSON.stringify(page.next);
    empty = page.rows.length === 0 ? empty + 1 : 0;
    if (page.next !== null) {
      if (next === cursor || empty > EMPTY_PAGES_MAX || Buffer.byteLength(next) > CURSOR_BYTES_MAX)
        throw new Error(`The source does not advance after ${cursor}.`);
      reading = read(page.next);
      // It is awaited below, unless this page fails.
      reading.catch(() => undefined);
    }
    yield page;
    if (page.next === null) return;
    cursor = next;
  }
}

/** What becomes of items, in their order: while one is awaited, the next is worked on. */
export async function* inOrder<Item, Result>(
  items: AsyncIterable<Item>,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<[Item, Result]> {
  let before: Promise<[Item, Result]> | undefined;
  for await (const item of items) {
    const one = work(item).then((result): [Item, Result] => [item, result]);
    // It is awaited below, unless the one before fails.
    one.catch(() => undefined);
    if (before !== undefined) yield await before;
    before = one;
  }
  if (before !== undefined) yield await before;
}

/** Divides rows into chunks of `size` at most. */
export function* chunksOf<Row>(rows: Iterable<Row>, size: number): Generator<Row[]> {
  let chunk: Row[] = [];
  for (const row of rows) {
    chunk.push(row);
    if (chunk.length < size) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}
