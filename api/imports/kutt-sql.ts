/** Statements on the tables of Kutt, the same for PostgreSQL, MySQL and SQLite but for times. */
import type { SQL } from "bun";

export type KuttDatabase = "postgres" | "mysql" | "sqlite";

/** Times as `YYYY-MM-DD HH:MM:SS`, without a zone: PostgreSQL alone stores one. */
const TIMES: Readonly<Record<KuttDatabase, (column: string) => string>> = {
  postgres: (column) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS')`,
  mysql: (column) => `date_format(${column}, '%Y-%m-%d %H:%i:%s')`,
  sqlite: (column) => `strftime('%Y-%m-%d %H:%M:%S', ${column})`,
};

export type KuttLink = {
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
export const readKuttLinks = async (
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

/** What a row of visits counts of each kind. */
const COUNTS = [
  "br_chrome",
  "br_edge",
  "br_firefox",
  "br_ie",
  "br_opera",
  "br_safari",
  "os_android",
  "os_ios",
  "os_linux",
  "os_macos",
  "os_windows",
] as const;

export type KuttVisits = Readonly<Record<(typeof COUNTS)[number], number>> & {
  id: number;
  link_id: number;
  total: number;
  countries: unknown;
  referrers: unknown;
  created: string;
};

/** Reads the next rows of visits after one: each has those of a link within an hour. */
export const readKuttVisits = async (
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
