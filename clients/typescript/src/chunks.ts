/** Splits long lists into requests that the API accepts. */
import { ShorthopError, stopMidway } from "./errors.ts";

/** The most links of one request. */
export const LINKS_MAX = 100;

/** The most links with a password of one request that creates links. */
export const PASSWORDS_MAX = 10;

/**
 * Splits a list into parts, in order, of at most `max` entries, and at most `costlyMax` for which
 * `isCostly` holds.
 */
export function splitIntoChunks<Item>(
  items: readonly Item[],
  max: number,
  isCostly: (item: Item) => boolean = () => false,
  costlyMax = max,
): Item[][] {
  const chunks: Item[][] = [];
  let costly = 0;
  for (const item of items) {
    const cost = isCostly(item) ? 1 : 0;
    const last = chunks.at(-1);
    if (last === undefined || last.length >= max || costly + cost > costlyMax) {
      chunks.push([item]);
      costly = cost;
    } else {
      last.push(item);
      costly += cost;
    }
  }
  return chunks;
}

/** Whether a link is created or changed with a password. */
export const hasPassword = (link: { password?: string | null }): boolean =>
  typeof link.password === "string";

/** The response about many links: an entry for each, by its position in the request, and counts. */
type BulkResponse = { data: { index: number }[] };

/**
 * Sends chunks one after another, and merges their responses: positions are those in the whole
 * list, and counts are added. An empty list is sent as one empty chunk, so that the API says what
 * is wrong with it. If a request fails, the error has the result of those before it, and the key
 * with which all can be sent again.
 */
export async function inChunks<Item, Result extends BulkResponse>(
  chunks: readonly Item[][],
  send: (chunk: Item[], i: number) => Promise<Result>,
  idempotencyKey?: string,
): Promise<Result> {
  const [first = [], ...others] = chunks;
  const whole = await send(first, 0);
  let sent = first.length;
  for (const [i, chunk] of others.entries()) {
    const { data, ...counts } = await send(chunk, i + 1).catch((error: unknown) => {
      const total = chunks.reduce((sum, { length }) => sum + length, 0);
      throw error instanceof ShorthopError
        ? stopMidway(error, whole, total, idempotencyKey)
        : error;
    });
    for (const item of data) whole.data.push({ ...item, index: item.index + sent });
    for (const [name, count] of Object.entries(counts)) {
      if (typeof count === "number")
        Reflect.set(whole, name, Number(Reflect.get(whole, name)) + count);
    }
    sent += chunk.length;
  }
  return whole;
}
