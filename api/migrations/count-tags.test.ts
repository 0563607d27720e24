/** Goal: tags are counted exactly while requests change links, and the counting can be interrupted. */
import { expect, setDefaultTimeout, test } from "bun:test";

import { newUuid, type Uuid } from "../../shared/ids.ts";
import { createLog } from "../../shared/log.ts";
import { startPostgres, type TestPostgres } from "../../test/harness/postgres.ts";
import type { AccountScope } from "../http/principal.ts";
import { schemaState } from "./applied.ts";
import { migratePostgres } from "./migrate.ts";

// Starting a real server takes long on a busy machine.
setDefaultTimeout(240_000);

/** More links than three batches of the counting. */
const LINKS = 16_000;

const log = createLog("test", "silent");
const url = "https://example.com/";

/** Takes back the migrations that count tags. */
async function takeBack({ sql }: TestPostgres): Promise<void> {
  await sql`drop function count_tags cascade`;
  await sql`drop function add_to_tags`;
  await sql`drop table tags, tag_counting`;
  await sql`delete from schema_migrations where id in (22, 23, 24)`;
}

async function insertLinks(
  { sql }: TestPostgres,
  { accountId, mode }: AccountScope,
): Promise<void> {
  await sql`
    with inserted as (
      insert into links (id, account_id, mode, alias, original_url, target_url, tags, version, created_at, updated_at)
      select gen_random_uuid(), ${accountId}, ${mode}, 'x' || i, ${url}, ${url},
             case when i % 3 = 0 then array['third', 'all'] else array['all'] end,
             nextval('link_version'), now(), now()
        from generate_series(1, ${LINKS}::integer) i
      returning id
    )
    insert into link_counters (link_id, account_id, mode)
    select id, ${accountId}, ${mode} from inserted`;
}

/** The counts of all tags, and what they should be. */
async function readCounts({ sql }: TestPostgres) {
  const counted = await sql`
    select account_id, mode, name, links::integer from tags order by account_id, mode, name`;
  const expected = await sql`
    select account_id, mode, name collate "C" as name, count(*)::integer as links
      from links, unnest(tags) name group by 1, 2, 3 order by 1, 2, 3`;
  return { counted: [...counted], expected: [...expected] };
}

/** Creates, changes and deletes links in turn until `isOver`; returns how many requests it made. */
async function changeLinks(
  { links, sql }: TestPostgres,
  owner: AccountScope,
  isOver: () => boolean,
): Promise<number> {
  let requests = 0;
  while (!isOver()) {
    const { link } = await links.create(owner, newUuid(), { url, tags: ["all", "new"] });
    await links.update(owner, link.id, { tags: ["new", "third"] });
    const [some, other] = await sql<{ id: Uuid }[]>`
      select id from links where account_id = ${owner.accountId} and id > gen_random_uuid() order by id limit 2`;
    if (some !== undefined) await links.remove(owner, some.id);
    if (other !== undefined) await links.update(owner, other.id, { tags: ["other"] });
    requests += 4;
  }
  return requests;
}

test("links that were there before are counted once, whatever changes while they are counted", async () => {
  await using database = await startPostgres();
  const { sql } = database;
  const owner: AccountScope = { accountId: await database.addAccount(), mode: "live" };
  await sql`update accounts set limits = '{"quotas": {"links_per_day": 1000000}}' where id = ${owner.accountId}`;
  await takeBack(database);
  await insertLinks(database, owner);
  let over = false;
  const changing = [0, 1].map(() => changeLinks(database, owner, () => over));
  const migrating = migratePostgres(sql, log).finally(() => void (over = true));
  const [, ...requests] = await Promise.all([migrating, ...changing]);
  expect(Math.min(...requests)).toBeGreaterThan(0);
  expect(await schemaState(sql)).toBe("ok");
  const { counted, expected } = await readCounts(database);
  expect(expected.length).toBeGreaterThan(3);
  expect(counted).toEqual(expected);
});

test("counting that was interrupted goes on where it was", async () => {
  await using database = await startPostgres();
  const { sql } = database;
  const owner: AccountScope = { accountId: await database.addAccount(), mode: "test" };
  await takeBack(database);
  await insertLinks(database, owner);
  await migratePostgres(sql, log);
  // As after one batch: what follows it is not counted.
  const [end] = await sql<{ id: Uuid }[]>`select id from links order by id offset 4999 limit 1`;
  await sql`update tag_counting set position = ${end?.id ?? ""}`;
  await sql`delete from tags`;
  await sql`
    insert into tags (account_id, mode, name, links)
    select account_id, mode, name, count(*) from links, unnest(tags) name where id <= ${end?.id ?? ""} group by 1, 2, 3`;
  await sql`delete from schema_migrations where id in (23, 24)`;
  await restoreProcedure(database);
  await migratePostgres(sql, log);
  const { counted, expected } = await readCounts(database);
  expect(counted).toEqual(expected);
});

/** Creates the procedure again, which the last migration drops. */
async function restoreProcedure({ sql }: TestPostgres): Promise<void> {
  const text = await Bun.file(new URL("0022_tags.sql", import.meta.url)).text();
  await sql.unsafe(text.slice(text.indexOf("create procedure")));
}
