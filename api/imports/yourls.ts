/**
 * YOURLS as a source, from its MariaDB or MySQL: the tables `yourls_url` and `yourls_log` as
 * includes/functions-install.php of YOURLS creates them. Pages are read by keyset.
 */
import { SQL } from "bun";

import { withTimeout } from "../../shared/timeout.ts";
import {
  type Cursor,
  type Page,
  Source,
  type SourceLink,
  type SourceVisits,
  WallClock,
} from "./source.ts";

/** Rows of a page. */
const LINKS_MAX = 2_000;
const VISITS_MAX = 10_000;

/** Time of a query, and of opening a connection. */
const QUERY_MS = 120_000;
const CONNECT_SECONDS = 10;

/** Prefixes of tables, which are part of a statement. */
const PREFIX = /^\w{0,50}$/;

/** YOURLS's word for no referrer. */
const NO_REFERRER = "direct";

export class Yourls extends Source {
  readonly #sql: SQL;
  readonly #prefix: string;
  readonly #clock: WallClock;

  /**
   * `url` is `mysql://USER:PASSWORD@HOST/DATABASE`, `prefix` that of the tables, and `timeZone` the
   * one of their times: YOURLS writes UTC since 1.7.3. Throws for a URL, a prefix or a zone that is
   * none.
   */
  constructor(url: string, prefix = "yourls_", timeZone = "UTC") {
    super();
    if (!PREFIX.test(prefix)) throw new Error("A prefix of tables has letters, digits and _.");
    this.#prefix = prefix;
    this.#clock = new WallClock(timeZone);
    this.#sql = new SQL({
      url,
      adapter: "mysql",
      max: 2,
      connectionTimeout: CONNECT_SECONDS,
    });
  }

  /** Names the tables without credentials; throws for a URL that names none. */
  static identify(url: string, prefix = "yourls_"): string {
    const { protocol, hostname, port, pathname } = new URL(url);
    if (!["mysql:", "mariadb:"].includes(protocol) || pathname.length < 2)
      throw new Error("It must be a URL such as mysql://USER:PASSWORD@HOST/DATABASE.");
    return `${hostname}:${port === "" ? "3306" : port}${pathname}/${prefix}`;
  }

  async links(after: Cursor | null, signal: AbortSignal): Promise<Page<SourceLink>> {
    const { created, keyword } = after ?? {};
    const from = after === null ? null : { created: String(created), keyword: String(keyword) };
    const reading = readYourlsLinks(this.#sql, this.#prefix, from, LINKS_MAX);
    const rows = await this.#inTime(reading, signal);
    const last = rows.at(-1);
    return {
      rows: rows.map((row) => ({
        id: row.keyword,
        domain: null,
        alias: row.keyword,
        url: row.url,
        // Without a title of its own, YOURLS shows the URL.
        ...(row.title === null || row.title === row.url ? {} : { title: row.title }),
        createdAt: this.#clock.toInstant(row.created),
      })),
      next:
        last === undefined || rows.length < LINKS_MAX
          ? null
          : { created: last.created, keyword: last.keyword },
    };
  }

  override async visits(after: Cursor | null, signal: AbortSignal): Promise<Page<SourceVisits>> {
    const from = Number(after?.["click_id"] ?? 0);
    const reading = readYourlsVisits(this.#sql, this.#prefix, from, VISITS_MAX);
    const rows = await this.#inTime(reading, signal);
    const last = rows.at(-1);
    return {
      rows: rows.map((row) => ({
        linkId: row.shorturl,
        at: this.#clock.toInstant(row.at),
        daily: false,
        count: 1,
        address: row.ip_address,
        userAgent: row.user_agent,
        country: row.country_code,
        referrer: row.referrer === NO_REFERRER ? "" : row.referrer,
      })),
      next: last === undefined || rows.length < VISITS_MAX ? null : { click_id: last.click_id },
    };
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.#sql.close({ timeout: 1 });
  }

  #inTime<Rows>(reading: Promise<Rows>, signal: AbortSignal): Promise<Rows> {
    signal.throwIfAborted();
    return withTimeout(reading, QUERY_MS);
  }
}

// Statements on the tables of YOURLS, in MariaDB or MySQL, whose prefix was checked.

/**
 * Maximum characters of a URL and of a title: a column of theirs may have 64 KiB, and no link has.
 */
const URL_LENGTH_MAX = 10_000;
const TITLE_LENGTH_MAX = 1_000;

/** Times as they are in the tables, without a zone. */
const TIME = "'%Y-%m-%d %H:%i:%s'";

type YourlsLink = { keyword: string; url: string; title: string | null; created: string };

/** Reads the next links after one, in the order of their creation. */
async function readYourlsLinks(
  sql: SQL,
  prefix: string,
  after: { created: string; keyword: string } | null,
  max: number,
): Promise<YourlsLink[]> {
  const values = after === null ? [] : [after.created, after.created, after.keyword];
  return await sql.unsafe<YourlsLink[]>(
    `select keyword, left(url, ${URL_LENGTH_MAX}) as url, left(title, ${TITLE_LENGTH_MAX}) as title,
            date_format(timestamp, ${TIME}) as created
       from \`${prefix}url\`
      ${after === null ? "" : "where timestamp >= ? and (timestamp > ? or keyword > ?)"}
      order by timestamp, keyword limit ${max}`,
    values,
  );
}

type YourlsVisit = {
  click_id: number;
  at: string;
  shorturl: string;
  referrer: string;
  user_agent: string;
  ip_address: string;
  country_code: string;
};

/** Reads the next visits after one, in their order. */
const readYourlsVisits = async (
  sql: SQL,
  prefix: string,
  after: number,
  max: number,
): Promise<YourlsVisit[]> =>
  await sql.unsafe<YourlsVisit[]>(
    `select click_id, date_format(click_time, ${TIME}) as at, shorturl, referrer, user_agent,
            ip_address, country_code
       from \`${prefix}log\`
      where click_id > ? order by click_id limit ${max}`,
    [after],
  );
