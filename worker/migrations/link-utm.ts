/**
 * Adds the UTM parameters of links to clicks that were stored without them, except where the short
 * URL had the parameter. It runs once, while workers are stopped; an interrupted run is repeated.
 * Rollups have no UTM parameters.
 */
import type { ClickHouseClient } from "@clickhouse/client";
import type postgres from "postgres";

import type { Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";

/**
 * Links per mutation, which rewrites five columns of their clicks; 200,000 take some 50 MB of
 * memory.
 */
const LINKS_PER_MUTATION = 200_000;

const COLUMNS = ["utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"] as const;

type LinkUtm = { id: Uuid } & Record<(typeof COLUMNS)[number], string | null>;

/** The UTM parameters of links, during a mutation. */
const TABLE = "link_utm_values";

export async function fillLinkUtm(
  client: ClickHouseClient,
  sql: postgres.Sql,
  log: Log,
  linksPerMutation = LINKS_PER_MUTATION,
): Promise<void> {
  const { database, empty } = await readState(client);
  if (empty) return;
  await client.command({ query: `DROP TABLE IF EXISTS ${TABLE}` });
  await client.command({
    query: `CREATE TABLE ${TABLE} (link_id UUID, known UInt8, ${COLUMNS.map((column) => `${column} String`).join(", ")})
            ENGINE = Join(ANY, LEFT, link_id)`,
  });
  let filled = 0;
  let after: Uuid | null = null;
  for (;;) {
    const links: LinkUtm[] = await readLinks(sql, after, linksPerMutation);
    if (links.length === 0) break;
    await client.command({ query: `TRUNCATE TABLE ${TABLE}` });
    await client.insert({
      table: TABLE,
      values: links.map(({ id, ...values }) => ({
        link_id: id,
        known: 1,
        ...Object.fromEntries(COLUMNS.map((column) => [column, values[column] ?? ""])),
      })),
      format: "JSONEachRow",
    });
    await client.command({ query: fillClicks(database) });
    filled += links.length;
    after = links.at(-1)?.id ?? null;
    log.info({ links: filled }, "link_utm_filled");
  }
  await client.command({ query: `DROP TABLE IF EXISTS ${TABLE}` });
}

/** The current database, and whether it has no clicks. */
async function readState(client: ClickHouseClient): Promise<{ database: string; empty: boolean }> {
  const result = await client.query({
    query: "SELECT currentDatabase() AS database, (SELECT count() FROM clicks) = 0 AS empty",
    format: "JSONEachRow",
  });
  const [row] = await result.json<{ database: string; empty: 0 | 1 }>();
  if (row === undefined) throw new Error("ClickHouse names no database.");
  return { database: row.database, empty: row.empty === 1 };
}

const readLinks = async (
  sql: postgres.Sql,
  after: Uuid | null,
  limit: number,
): Promise<LinkUtm[]> =>
  await sql<LinkUtm[]>`
  select id, utm_source, utm_medium, utm_campaign, utm_term, utm_content
    from links
   where (${after}::uuid is null or id > ${after})
     and (utm_source is not null or utm_medium is not null or utm_campaign is not null
          or utm_term is not null or utm_content is not null)
   order by id limit ${limit}`;

/**
 * A mutation has no current database, so table names contain it. Returns when all parts are
 * changed.
 */
const fillClicks = (database: string): string => {
  const valueOf = (column: string) => `joinGet('${database}.${TABLE}', '${column}', link_id)`;
  const updates = COLUMNS.map(
    (column) => `${column} = if(${column} = '', ${valueOf(column)}, ${column})`,
  );
  const missing = COLUMNS.map((column) => `${column} = ''`).join(" OR ");
  return `
    ALTER TABLE clicks UPDATE ${updates.join(", ")}
     WHERE ${valueOf("known")} = 1 AND (${missing})
    SETTINGS mutations_sync = 2`;
};
