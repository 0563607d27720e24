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
  /** What the source has and we do not: said in the report. */
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

export interface Source {
  /** In the order of their ids or creation; from the beginning when `after` is null. */
  links(after: Cursor | null, signal: AbortSignal): Promise<Page<SourceLink>>;
  /**
   * In the order of months. A source without visits has an empty page. A page that is read again
   * has the same visits first, in the same order.
   */
  visits(after: Cursor | null, signal: AbortSignal): Promise<Page<SourceVisits>>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The visits of a source that has none. */
export const noVisits = (): Promise<Page<SourceVisits>> =>
  Promise.resolve({ rows: [], next: null });
