/**
 * What an import reads: links, and visits of them, of another product, in pages that can be read
 * again from where they ended.
 */
/** Where a page ended: what a source needs to go on from there. At most 1 KiB as JSON. */
export type Cursor = Readonly<Record<string, string | number>>;

/** A link of the source. `id` names it within the source, for good. */
export type SourceLink = {
  id: string;
  /** Its host in the source; null when the source has one. */
  domain: string | null;
  alias: string;
  url: string;
  title?: string;
  tags?: readonly string[];
  createdAt?: Date;
  expiresAt?: Date;
  /** Further members of a link as `POST /v1/links` takes them, such as rules. */
  settings?: Readonly<Record<string, unknown>>;
  /** Settings that we do not have, for the report. */
  left?: readonly string[];
  /** Why it must not be imported, as a sentence. */
  refused?: string;
};

/** Visits of a link: one, or (`daily`) some of a day or an hour, of which no visitor is known. */
export type SourceVisits = {
  linkId: string;
  /** Of one visit its time; of a day or an hour its start in the source's time zone. */
  at: Date;
  daily: boolean;
  count: number;
  /** The visitor's, which tells visitors apart and is not stored. */
  address?: string;
  userAgent?: string;
  /** ISO 3166-1 alpha-2. */
  country?: string;
  region?: string;
  city?: string;
  device?: string;
  browser?: string;
  os?: string;
  referrer?: string;
};

/** Rows, and where to go on; null after the last ones. */
export type Page<Row> = { rows: readonly Row[]; next: Cursor | null };

export abstract class Source implements AsyncDisposable {
  /** In the order of their ids or creation; from the beginning when `after` is null. */
  abstract links(after: Cursor | null, signal: AbortSignal): Promise<Page<SourceLink>>;

  /**
   * In the order of months; none unless the source has them. A page that is read again has the same
   * visits first, in the same order.
   */
  visits(_after: Cursor | null, _signal: AbortSignal): Promise<Page<SourceVisits>> {
    return Promise.resolve({ rows: [], next: null });
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

// Reads a source page by page, and works on two at once.

/** Maximum bytes of a cursor, and pages without rows in a row: a source may have no end. */
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

/**
 * Works on items and yields them with their results, in order; works on the next meanwhile, and
 * waits for that when it ends early.
 */
export async function* inOrder<Item, Result>(
  items: AsyncIterable<Item>,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<[Item, Result]> {
  let last: Promise<[Item, Result]> | undefined;
  try {
    for await (const item of items) {
      const before = last;
      last = work(item).then((result): [Item, Result] => [item, result]);
      // It is awaited below, unless the one before fails.
      last.catch(() => undefined);
      if (before !== undefined) yield await before;
    }
    if (last !== undefined) yield await last;
  } finally {
    await last?.catch(() => undefined);
  }
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

/** Local times of a source, which it has without their offset, as instants. */
export class WallClock {
  readonly #zone: string;

  /** `zone` is an IANA name or an offset such as +02:00; throws for another text. */
  constructor(zone: string) {
    this.#zone = zone;
    Temporal.Now.zonedDateTimeISO(zone);
  }

  /**
   * The instant of a local time `YYYY-MM-DD HH:MM:SS`; an invalid date for another text. Of two
   * instants with one local time it is the earlier; a time that a clock skipped is before that.
   */
  toInstant(text: string): Date {
    try {
      const local = Temporal.PlainDateTime.from(text);
      const instant = local.toZonedDateTime(this.#zone, { disambiguation: "earlier" });
      return new Date(instant.epochMilliseconds);
    } catch {
      return new Date(NaN);
    }
  }
}
