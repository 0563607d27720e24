/**
 * Goal: tags are counted exactly while requests change links, and the counting can be interrupted.
 */
import { expect, setDefaultTimeout, test } from "bun:test";

import { type AccountScope, SYSTEM, type Writer } from "../../api/http/principal.ts";
import { schemaState } from "../../api/migrations/applied.ts";
import { migrations } from "../../api/migrations/index.ts";
import { migratePostgres } from "../../api/migrations/migrate.ts";
import { encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import { createLog } from "../../shared/log.ts";
import { checksumOf } from "../../shared/migrations.ts";
import { startPostgres, type TestPostgres } from "../harness/postgres.ts";

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
  owner: Writer,
  isOver: () => boolean,
): Promise<number> {
  let requests = 0;
  while (!isOver()) {
    const { link } = await links.create(owner, newUuid(), { url, tags: ["all", "new"] });
    await links.update(owner, link.id, { tags: ["new", "third"] });
    const [some, ...others] = await sql<{ id: Uuid }[]>`
      select id from links where account_id = ${owner.accountId} order by random() limit 30`;
    if (some !== undefined) await links.remove(owner, some.id);
    const rows = others.map(({ id }) => ({ id: encodeId("link", id), tags: ["other"] }));
    await links.updateMany(owner, rows);
    requests += 4;
  }
  return requests;
}

test("links that were there before are counted once, whatever changes while they are counted", async () => {
  await using database = await startPostgres();
  const { sql } = database;
  const owner: Writer = {
    accountId: await database.addAccount(),
    mode: "live",
    plan: "pro",
    actor: SYSTEM,
  };
  await sql`update accounts set limits = '{"quotas": {"links_per_day": 1000000}}' where id = ${owner.accountId}`;
  await takeBack(database);
  await insertLinks(database, owner);
  let over = false;
  const changing = [0, 1, 2].map(() => changeLinks(database, owner, () => over));
  const migrating = migratePostgres(sql, log).finally(() => void (over = true));
  const [, ...requests] = await Promise.all([migrating, ...changing]);
  expect(Math.min(...requests)).toBeGreaterThan(0);
  expect(await schemaState(sql)).toBe("ok");
  const { counted, expected } = await readCounts(database);
  expect(expected.length).toBeGreaterThan(3);
  expect(counted).toEqual(expected);
});

test("counting that was interrupted goes on where it was, and links on both sides of that may change", async () => {
  await using database = await startPostgres();
  const { sql } = database;
  const owner: Writer = {
    accountId: await database.addAccount(),
    mode: "test",
    plan: "pro",
    actor: SYSTEM,
  };
  await takeBack(database);
  await insertLinks(database, owner);
  await applyFirst(database);
  const position = await countSome(database);

  const [below, above] = await Promise.all([
    sql<{ id: Uuid }[]>`select id from links where id <= ${position} order by id desc limit 20`,
    sql<{ id: Uuid }[]>`select id from links where id > ${position} order by id limit 20`,
  ]);
  for (const rows of [below, above]) {
    const [first, second, ...others] = rows.map(({ id }) => encodeId("link", id));
    await database.links.removeMany(owner, [first ?? "", second ?? ""]);
    const changes = others.map((id) => ({ id, tags: ["other", "all"] }));
    await database.links.updateMany(owner, changes);
  }
  await database.links.createMany(owner, newUuid(), [{ url, tags: ["new", "all"] }]);

  await migratePostgres(sql, log);
  const { counted, expected } = await readCounts(database);
  expect(expected.length).toBe(4);
  expect(counted).toEqual(expected);
});

/** Applies the first of the migrations, which creates the table and its triggers. */
async function applyFirst({ sql }: TestPostgres): Promise<void> {
  const migration = migrations.find(({ name }) => name === "tags");
  if (migration === undefined) throw new Error("There is no such migration.");
  await sql.unsafe(migration.text).simple();
  await sql`
    insert into schema_migrations (id, name, checksum)
    values (${migration.id}, ${migration.name}, ${checksumOf(migration)})`;
}

/** Leaves what an interrupted counting leaves; returns up to where it has counted. */
async function countSome({ sql }: TestPostgres): Promise<Uuid> {
  const [end] = await sql<{ id: Uuid }[]>`select id from links order by id offset 4999 limit 1`;
  if (end === undefined) throw new Error("There are too few links.");
  await sql`update tag_counting set position = ${end.id}`;
  await sql`
    insert into tags (account_id, mode, name, links)
    select account_id, mode, name, count(*) from links, unnest(tags) name where id <= ${end.id} group by 1, 2, 3`;
  return end.id;
}
