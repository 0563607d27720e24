/**
 * Goal: an export has, and an erasure deletes, what belongs to an account in any table. Method: the
 * tables that there are, each of which is in one of the lists; and an account that has been exported
 * and erased next to another one.
 */
import { expect, test } from "bun:test";

import { newUuid, type Uuid } from "../../shared/ids.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { countRows, deleteRows, findOwnUsers, readRows, Snapshot } from "./sql.ts";
import { OTHER_TABLES, OWNED_TABLES, type Owner, SECRET_COLUMNS } from "./tables.ts";

const postgres = await forFile(startPostgres());

test("every table is in one of the lists", async () => {
  const rows = await postgres.sql<{ name: string }[]>`
    select relname as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by 1`;
  const listed = [...OWNED_TABLES.map(({ table }) => table), ...OTHER_TABLES];
  expect(listed.toSorted()).toEqual(rows.map(({ name }) => name).toSorted());
});

test("no table is deleted before one that refers to it, unless its rows go with it", async () => {
  const references = await postgres.sql<{ child: string; parent: string }[]>`
    select conrelid::regclass::text as child, confrelid::regclass::text as parent
      from pg_constraint where contype = 'f' and confdeltype = 'a' and conrelid <> confrelid`;
  const places = new Map(OWNED_TABLES.map(({ table }, place) => [table, place]));
  const placeOf = (table: string) => places.get(table) ?? Infinity;
  expect(references.length).toBeGreaterThan(3);
  const wrong = references.filter(
    ({ child, parent }) => places.has(parent) && placeOf(child) > placeOf(parent),
  );
  expect(wrong).toEqual([]);
});

test("what looks like a secret is in no export", async () => {
  const exported = OWNED_TABLES.filter(({ isExported }) => isExported).map(({ table }) => table);
  const rows = await postgres.sql<{ name: string }[]>`
    select distinct column_name as name from information_schema.columns
     where table_schema = 'public' and table_name = any (${exported}::text[])
       and column_name ~ 'secret|hash|salt|token|password|lookup|leased'`;
  // The hash of an entry is what audit verify prints, and a lease has only its end.
  const rest = rows.map(({ name }) => name).filter((name) => !SECRET_COLUMNS.includes(name));
  expect(rest.toSorted()).toEqual(["hash", "leased_until"]);
});

/** Somebody with a user of their own, and one whom another account has as well. */
async function addOwner(): Promise<Owner & { shared: Uuid }> {
  const [account, other] = [await postgres.addAccount(), await postgres.addAccount()];
  const [own, shared] = [newUuid(), newUuid()];
  for (const id of [own, shared])
    await postgres.sql`insert into users (id, email, name) values (${id}, ${`${id}@example.com`}, 'N')`;
  await postgres.sql`
    insert into members (account_id, user_id, role)
    values (${account}, ${own}, 'owner'), (${account}, ${shared}, 'viewer'), (${other}, ${shared}, 'owner')`;
  return { account, users: await findOwnUsers(postgres.sql, account), shared };
}

test("users are of an account if no other has them", async () => {
  const { users, shared } = await addOwner();
  expect(users).toHaveLength(1);
  expect(users).not.toContain(shared);
});

test("every statement counts, reads and deletes rows of the account alone", async () => {
  const [owner, another] = [await addOwner(), await addOwner()];
  const read: Record<string, number> = {};
  await using snapshot = await Snapshot.open(postgres.sql);
  for (const table of OWNED_TABLES)
    for await (const rows of readRows(snapshot.sql, table, owner))
      read[table.table] = (read[table.table] ?? 0) + rows.length;
  expect(read).toEqual({ accounts: 1, members: 2, users: 1 });
  const before = await countAll(another);
  for (const table of OWNED_TABLES) while ((await deleteRows(postgres.sql, table, owner)) > 0);
  expect(Object.values(await countAll(owner)).every((count) => count === 0)).toBe(true);
  expect(await countAll(another)).toEqual(before);
  const kept = await postgres.sql`select from users where id = ${owner.shared}`;
  expect(kept).toHaveLength(1);
});

async function countAll(owner: Owner): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of OWNED_TABLES)
    counts[table.table] = await countRows(postgres.sql, table, owner);
  return counts;
}
