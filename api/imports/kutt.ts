/**
 * Kutt as a source, from its PostgreSQL, MySQL or SQLite: the tables `links`, `domains` and
 * `visits` as server/models of thedevs-network/kutt creates them. Visits are counts by the hour: of
 * countries, referrers, browsers and systems, each for itself.
 */
import { SQL } from "bun";
import * as z from "zod";

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
const VISITS_MAX = 1_000;

/** Time of a query, and of opening a connection. */
const QUERY_MS = 120_000;
const CONNECT_SECONDS = 10;

const DATABASES: Readonly<Record<string, KuttDatabase>> = {
  "postgres:": "postgres",
  "postgresql:": "postgres",
  "mysql:": "mysql",
  "mariadb:": "mysql",
  "sqlite:": "sqlite",
};

const BROWSERS = [
  ["Chrome", "br_chrome"],
  ["Edge", "br_edge"],
  ["Firefox", "br_firefox"],
  ["IE", "br_ie"],
  ["Opera", "br_opera"],
  ["Safari", "br_safari"],
] as const;

const SYSTEMS = [
  ["Android", "os_android"],
  ["iOS", "os_ios"],
  ["Linux", "os_linux"],
  ["macOS", "os_macos"],
  ["Windows", "os_windows"],
] as const;

const counts = z.record(z.string(), z.coerce.number().int().min(0));

/** Reads counts by name; some databases return JSON as text. What is none has no names. */
function readCounts(value: unknown): (readonly [name: string, count: number])[] {
  try {
    return Object.entries(counts.parse(typeof value === "string" ? JSON.parse(value) : value));
  } catch {
    return [];
  }
}

export class Kutt extends Source {
  readonly #sql: SQL;
  readonly #database: KuttDatabase;
  readonly #clock: WallClock;

  /**
   * `url` is `postgres://…`, `mysql://…` or `sqlite:PATH`; `timeZone` is that of times in MySQL.
   * Throws for an invalid URL or zone.
   */
  constructor(url: string, timeZone = "UTC") {
    super();
    this.#database = databaseOf(url);
    this.#clock = new WallClock(this.#database === "mysql" ? timeZone : "UTC");
    this.#sql =
      this.#database === "sqlite"
        ? new SQL({ adapter: "sqlite", filename: pathOf(url), readonly: true })
        : new SQL({ url, adapter: this.#database, max: 2, connectionTimeout: CONNECT_SECONDS });
  }

  /** Names the tables without credentials. */
  static identify(url: string): string {
    if (databaseOf(url) === "sqlite") return pathOf(url);
    const { hostname, port, pathname } = new URL(url);
    return `${hostname}${port === "" ? "" : `:${port}`}${pathname}`;
  }

  async links(after: Cursor | null, signal: AbortSignal): Promise<Page<SourceLink>> {
    const reading = readKuttLinks(this.#sql, this.#database, idOf(after), LINKS_MAX);
    const rows = await this.#inTime(reading, signal);
    const links = rows.map((row): SourceLink => {
      const left = [
        ...(row.protected === 1 ? ["its password: it is disabled until it gets one"] : []),
        ...(row.banned === 1 ? ["its ban: it is disabled"] : []),
      ];
      return {
        id: String(row.id),
        domain: row.domain,
        alias: row.address,
        url: row.target,
        ...(row.description === null ? {} : { title: row.description }),
        createdAt: this.#clock.toInstant(row.created),
        ...(row.expires === null ? {} : { expiresAt: this.#clock.toInstant(row.expires) }),
        ...(left.length === 0 ? {} : { left, settings: { disabled: true } }),
      };
    });
    return { rows: links, next: nextOf(rows, LINKS_MAX) };
  }

  override async visits(after: Cursor | null, signal: AbortSignal): Promise<Page<SourceVisits>> {
    const reading = readKuttVisits(this.#sql, this.#database, idOf(after), VISITS_MAX);
    const rows = await this.#inTime(reading, signal);
    return {
      rows: rows.flatMap((row) => toVisits(row, this.#clock.toInstant(row.created))),
      next: nextOf(rows, VISITS_MAX),
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

function databaseOf(url: string): KuttDatabase {
  const database = DATABASES[URL.parse(url)?.protocol ?? ""];
  if (database === undefined)
    throw new Error("It must be postgres://…, mysql://… or sqlite:PATH of Kutt's database.");
  return database;
}

const pathOf = (url: string): string => url.slice("sqlite:".length);

const idOf = (after: Cursor | null): number => Number(after?.["id"] ?? 0);

function nextOf(rows: readonly { id: number }[], max: number): Cursor | null {
  const last = rows.at(-1);
  return last === undefined || rows.length < max ? null : { id: last.id };
}

/**
 * The visits of an hour. Kutt does not know which country, referrer, browser and system were one
 * visitor's: they are put together in their order, so that the count of each is right.
 */
function toVisits(row: KuttVisits, at: Date): SourceVisits[] {
  const runs = {
    country: runsOf(readCounts(row.countries), toCountry),
    referrer: runsOf(readCounts(row.referrers), toReferrer),
    browser: runsOf(BROWSERS.map(([name, column]) => [name, row[column]])),
    os: runsOf(SYSTEMS.map(([name, column]) => [name, row[column]])),
  };
  const found: SourceVisits[] = [];
  for (let done = 0; done < row.total;) {
    const now = Object.entries(runs).map(([name, list]) => ({ name, ...takeRun(list, done) }));
    const end = Math.min(row.total, ...now.map((run) => run.end));
    const known = Object.fromEntries(now.map(({ name, value }) => [name, value]));
    found.push({ linkId: String(row.link_id), at, daily: true, count: end - done, ...known });
    done = end;
  }
  return found;
}

/** A value, and the number of the first visit that has another. */
type Run = { value: string; end: number };

/** The last run comes first. */
function runsOf(
  values: readonly (readonly [name: string, count: number])[],
  toValue = (name: string) => name,
): Run[] {
  let end = 0;
  return values
    .filter(([, count]) => count > 0)
    .map(([name, count]) => ({ value: toValue(name), end: (end += count) }))
    .toReversed();
}

/** The run of a visit; removes those before it, as strangers can give an hour very many. */
function takeRun(runs: Run[], at: number): Run {
  while ((runs.at(-1)?.end ?? Infinity) <= at) runs.pop();
  return runs.at(-1) ?? { value: "", end: Infinity };
}

const toCountry = (name: string): string => (name === "unknown" ? "" : name.toUpperCase());

/** Kutt writes hosts without dots, because they were names of members. */
const toReferrer = (name: string): string =>
  name === "direct" ? "" : `https://${name.replaceAll("[dot]", ".")}/`;

// Statements on the tables of Kutt, the same for PostgreSQL, MySQL and SQLite but for times.

type KuttDatabase = "postgres" | "mysql" | "sqlite";

/** Times as `YYYY-MM-DD HH:MM:SS`, without a zone: PostgreSQL alone stores one. */
const TIMES: Readonly<Record<KuttDatabase, (column: string) => string>> = {
  postgres: (column) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS')`,
  mysql: (column) => `date_format(${column}, '%Y-%m-%d %H:%i:%s')`,
  sqlite: (column) => `strftime('%Y-%m-%d %H:%M:%S', ${column})`,
};

type KuttLink = {
  id: number;
  address: string;
  domain: string | null;
  description: string | null;
  target: string;
  protected: number;
  banned: number;
  expires: string | null;
  created: string;
};

/** Reads the next links after one, in the order of their creation. */
const readKuttLinks = async (
  sql: SQL,
  database: KuttDatabase,
  after: number,
  max: number,
): Promise<KuttLink[]> =>
  await sql.unsafe<KuttLink[]>(
    `select links.id, links.address, domains.address as domain, links.description, links.target,
            case when links.password is null then 0 else 1 end as protected,
            case when links.banned then 1 else 0 end as banned,
            ${TIMES[database]("links.expire_in")} as expires,
            ${TIMES[database]("links.created_at")} as created
       from links left join domains on domains.id = links.domain_id
      where links.id > ${Math.trunc(after)} order by links.id limit ${max}`,
  );

/** The columns of a row of visits that count, by kind. */
const COUNTS = [...BROWSERS, ...SYSTEMS].map(([, column]) => column);

type KuttVisits = Readonly<Record<(typeof COUNTS)[number], number>> & {
  id: number;
  link_id: number;
  total: number;
  countries: unknown;
  referrers: unknown;
  created: string;
};

/** Reads the next rows of visits after one: each has those of a link within an hour. */
const readKuttVisits = async (
  sql: SQL,
  database: KuttDatabase,
  after: number,
  max: number,
): Promise<KuttVisits[]> =>
  await sql.unsafe<KuttVisits[]>(
    `select id, link_id, total, countries, referrers, ${COUNTS.join(", ")},
            ${TIMES[database]("created_at")} as created
       from visits where link_id is not null and id > ${Math.trunc(after)} order by id limit ${max}`,
  );
