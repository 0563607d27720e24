/** SQL statements on imports: each run writes where it is together with what it did. */
import type { Mode } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { LinkFigures, LinkLoss } from "../clicks/link-counters.ts";
import type { AccountScope } from "../http/principal.ts";
import { type Sql, type Transaction, tryToLock } from "../postgres.ts";
import type { Cursor } from "./source.ts";

export type ImportState = "links" | "visits" | "counters" | "done" | "undoing" | "undone";

export type ImportCounts = {
  created: number;
  same: number;
  taken: number;
  refused: number;
  visits: number;
  left_out: number;
};

export type ImportRow = ImportCounts & {
  id: Uuid;
  number: number;
  account_id: Uuid;
  mode: Mode;
  source: string;
  identity: string;
  options: Readonly<Record<string, string>>;
  state: ImportState;
  page_end: Cursor | null;
  segments: number;
  publishing: number[];
  created_at: Date;
};

const selectImports = (sql: Sql) => sql`
  select id, number, account_id, mode, source, identity, options, state, page_end, segments, publishing,
         created::float8 as created, same::float8 as same, taken::float8 as taken, refused::float8 as refused,
         visits::float8 as visits, left_out::float8 as left_out, created_at
    from imports`;

export const listImportRows = async (sql: Sql): Promise<ImportRow[]> =>
  await sql<ImportRow[]>`${selectImports(sql)} order by number`;

export async function findImport(sql: Sql, id: Uuid): Promise<ImportRow | undefined> {
  const [row] = await sql<ImportRow[]>`${selectImports(sql)} where id = ${id}`;
  return row;
}

/** Which import it is of those that are not undone. */
type ImportOf = AccountScope & { source: string; identity: string };

/** Finds the import of a source that an account has. */
export async function findImportOf(
  sql: Sql,
  { accountId, mode, source, identity }: ImportOf,
): Promise<ImportRow | undefined> {
  const [row] = await sql<ImportRow[]>`
    ${selectImports(sql)}
     where account_id = ${accountId} and mode = ${mode} and source = ${source} and identity = ${identity}
       and state <> 'undone'`;
  return row;
}

export type NewImport = ImportOf & {
  id: Uuid;
  options: Readonly<Record<string, string>>;
};

/** The account with this id, or any account; two at most. */
export const findAccounts = async (sql: Sql, id: Uuid | undefined): Promise<{ id: Uuid }[]> =>
  await sql<{ id: Uuid }[]>`
    select id from accounts where ${id ?? null}::uuid is null or id = ${id ?? null} limit 2`;

/** Begins an import, or finds the one of this source that the account has. */
export async function beginImport(sql: Sql, begun: NewImport): Promise<ImportRow> {
  const { id, accountId, mode, source, identity, options } = begun;
  await sql`
    insert into imports (id, account_id, mode, source, identity, options)
    values (${id}, ${accountId}, ${mode}, ${source}, ${identity}, ${sql.json(options)})
    on conflict do nothing`;
  const row = await findImportOf(sql, begun);
  if (row === undefined) throw new Error("The import has just been undone.");
  return row;
}

/**
 * Works on an import; throws while another process does. Waiting for this lock would be waiting for
 * another run; it ends with the connection.
 */
export async function holdImport(sql: Sql, id: Uuid, work: () => Promise<void>): Promise<void> {
  await sql.begin(async (transaction) => {
    if (!(await tryToLock(transaction, `import ${id}`)))
      throw new Error("Another process is running this import.");
    await work();
  });
}

export type LinksOfPage = Record<"created" | "same" | "taken" | "refused", number> & {
  page_end: Cursor | null;
  links: readonly ImportLink[];
};

/** A link that an import created or found. */
export type ImportLink = { source_id: string; link_id: Uuid; host: string; created: boolean };

/** Records a page of links, and where it ended; after the last page, visits come. */
export async function recordLinks(sql: Sql, id: Uuid, page: LinksOfPage): Promise<void> {
  const sourceIds = page.links.map(({ source_id }) => source_id);
  const ids = page.links.map(({ link_id }) => link_id);
  const hosts = page.links.map(({ host }) => host);
  const created = page.links.map((link) => Number(link.created));
  await sql`
    with added as (
      insert into import_links (import_id, source_id, link_id, host, created)
      select ${id}, source_id, link_id, host, created::boolean
        from unnest(${sourceIds}::text[], ${ids}::uuid[], ${hosts}::text[], ${created}::integer[])
          as link (source_id, link_id, host, created)
      on conflict do nothing
    )
    update imports
       set state = ${page.page_end === null ? "visits" : "links"}, page_end = ${toJson(sql, page.page_end)},
           created = created + ${page.created}, same = same + ${page.same},
           taken = taken + ${page.taken}, refused = refused + ${page.refused}
     where id = ${id} and state = 'links'`;
}

const toJson = (sql: Sql, cursor: Cursor | null) => (cursor === null ? null : sql.json(cursor));

/** Finds the links of an import by the ids of its source. */
export async function findImportLinks(
  sql: Sql,
  id: Uuid,
  sourceIds: readonly string[],
): Promise<Map<string, ImportLink>> {
  const rows = await sql<ImportLink[]>`
    select source_id, link_id, host, created from import_links
     where import_id = ${id} and source_id = any (${[...sourceIds]}::text[])`;
  return new Map(rows.map((row) => [row.source_id, row]));
}

/** Records the clicks of each segment that is about to be published, after those before. */
export async function recordPublishing(
  sql: Sql,
  id: Uuid,
  clicks: readonly number[],
): Promise<void> {
  await sql`update imports set publishing = ${[...clicks]}::integer[] where id = ${id}`;
}

export type VisitsOfPage = Record<"visits" | "left_out", number> & {
  page_end: Cursor | null;
  /** Segments that were published before the page, and of it. */
  before: number;
  segments: number;
};

/**
 * Records that a page of visits is published, and where it ended; after the last one come the
 * counters. Returns false if another run has done so.
 */
export async function recordVisits(sql: Sql, id: Uuid, page: VisitsOfPage): Promise<boolean> {
  const { count } = await sql`
    update imports
       set state = ${page.page_end === null ? "counters" : "visits"}, page_end = ${toJson(sql, page.page_end)},
           segments = segments + ${page.segments}, publishing = '{}',
           visits = visits + ${page.visits}, left_out = left_out + ${page.left_out}
     where id = ${id} and state = 'visits' and segments = ${page.before}`;
  return count === 1;
}

/** A link that an import created, and that nobody has changed. */
export type RemovableLink = { source_id: string; link_id: Uuid; version: number };

/** Finds the next links after one that undoing the import deletes. */
export const findRemovableLinks = async (
  sql: Sql,
  id: Uuid,
  after: string,
  max: number,
): Promise<RemovableLink[]> =>
  await sql<RemovableLink[]>`
    select imported.source_id, imported.link_id, link.version::float8 as version
      from import_links imported join links link on link.id = imported.link_id
     where imported.import_id = ${id} and imported.source_id > ${after} and imported.created
       and link.updated_at = link.created_at and link.taken_down is not true
     order by imported.source_id limit ${max}`;

/** Finds the next links after one that have visits of the import and are still there. */
export const findKeptLinks = async (
  sql: Sql,
  id: Uuid,
  after: string,
  max: number,
): Promise<ImportLink[]> =>
  await sql<ImportLink[]>`
    select imported.source_id, imported.link_id, imported.host, imported.created
      from import_links imported join link_counters counters on counters.link_id = imported.link_id
     where imported.import_id = ${id} and imported.source_id > ${after}
     order by imported.source_id limit ${max}`;

/** Raises counters of links to what they have, as workers do. */
export async function raiseCounters(sql: Sql, figures: readonly LinkFigures[]): Promise<void> {
  await sql`
    update link_counters counters
       set clicks = greatest(counters.clicks, figures.clicks),
           unique_clicks = greatest(counters.unique_clicks, figures.unique_clicks),
           bot_clicks = greatest(counters.bot_clicks, figures.bot_clicks),
           last_click_at = greatest(counters.last_click_at, least(to_timestamp(figures.last_click / 1000.0), now()))
      from jsonb_to_recordset(${sql.json([...figures])}::jsonb)
           figures (link_id uuid, clicks bigint, unique_clicks bigint, bot_clicks bigint, last_click bigint)
     where counters.link_id = figures.link_id`;
}

/** Notes how many clicks of links are about to be deleted. */
export async function noteLosses(sql: Sql, id: Uuid, losses: readonly LinkLoss[]): Promise<void> {
  await sql`
    update import_links imported
       set deleted_clicks = lost.humans, deleted_bots = lost.bots
      from jsonb_to_recordset(${sql.json([...losses])}::jsonb) lost (link_id uuid, humans bigint, bots bigint)
     where imported.import_id = ${id} and imported.link_id = lost.link_id`;
}

/** Takes what was noted of links, which can be taken once. */
export const takeLosses = async (
  sql: Transaction,
  id: Uuid,
  links: readonly Uuid[],
): Promise<LinkLoss[]> =>
  await sql<LinkLoss[]>`
    update import_links imported set deleted_clicks = 0, deleted_bots = 0
      from (select link_id, max(deleted_clicks)::float8 as humans, max(deleted_bots)::float8 as bots
              from import_links
             where import_id = ${id} and link_id = any (${[...links]}::uuid[]) and deleted_clicks + deleted_bots > 0
             group by link_id) taken
     where imported.import_id = ${id} and imported.link_id = taken.link_id
    returning taken.*`;

/** Sets the state of an import. */
export async function setImportState(sql: Sql, id: Uuid, state: ImportState): Promise<void> {
  await sql`update imports set state = ${state} where id = ${id}`;
  if (state === "undone") await sql`delete from import_links where import_id = ${id}`;
}
