/** Goal: migrations work on a schema with data, which stays intact. */
import { afterAll, beforeAll, expect, test } from "bun:test";

import { migrations } from "../../api/migrations/index.ts";
import { migratePostgres } from "../../api/migrations/migrate.ts";
import { openPostgres, type Sql } from "../../api/postgres.ts";
import { newUuid } from "../../shared/ids.ts";
import { createLog } from "../../shared/log.ts";
import { checksumOf } from "../../shared/migrations.ts";
import { type Stack, startStack } from "../harness/stack.ts";

/** The last migration before quotas. */
const BEFORE = 6;

const log = createLog("test", "fatal");

let stack: Stack;
let sql: Sql;

beforeAll(async () => {
  stack = await startStack();
  const admin = openPostgres(stack.info().database_url, 1);
  await admin`create database before_quotas`;
  await admin.end();
  const url = new URL(stack.info().database_url);
  url.pathname = "/before_quotas";
  sql = openPostgres(url.href, 3);
});
afterAll(async () => {
  await sql.end();
  await stack[Symbol.asyncDispose]();
});

test("accounts that exceed the new quotas keep what they have when quotas are added", async () => {
  await sql`
    create table schema_migrations (
      id integer primary key, name text not null, checksum text not null,
      applied_at timestamptz(3) not null default now())`;
  for (const migration of migrations.filter(({ id }) => id <= BEFORE)) {
    // Concurrent statements must not run in a transaction, which several statements in one message
    // are.
    const statements = migration.concurrent ? migration.text.split(/;\s*$/m) : [migration.text];
    for (const statement of statements)
      if (statement.trim() !== "") await sql.unsafe(statement).simple();
    await sql`
      insert into schema_migrations (id, name, checksum)
      values (${migration.id}, ${migration.name}, ${checksumOf(migration)})`;
  }
  const [free, enterprise] = [newUuid(), newUuid()];
  await sql`
    insert into accounts (id, name, plan, limits)
    values (${free}, 'Free', 'free', '{}'), (${enterprise}, 'Own', 'enterprise', '{"minute": 5}')`;
  await sql`
    insert into domains (id, account_id, mode, host, verification_value)
    select gen_random_uuid(), ${free}, 'live', 'd' || n || '.example.com', 'v' from generate_series(1, 15) n`;
  await sql`
    insert into api_keys (id, account_id, name, mode, lookup, prefix, secret_hash, scopes, revoked_at)
    select gen_random_uuid(), ${free}, 'k', 'live', 'lookup' || n, 'sk_live_', sha256('x'), '{links:read}',
           case when n % 2 = 0 then now() end
      from generate_series(1, 8) n`;

  await migratePostgres(sql, log);
  // A second run has nothing to do.
  await migratePostgres(sql, log);

  const quotas = (account: string) =>
    sql`select name, allowed, used from quotas_of(${account}, 'live')`;
  expect([...(await quotas(free))]).toEqual([
    { name: "links_per_day", allowed: 2_400, used: 0 },
    { name: "invitations_per_day", allowed: 20, used: 0 },
    { name: "domains", allowed: 10, used: 15 },
    { name: "api_keys", allowed: 10, used: 4 },
    { name: "live_streams", allowed: 3, used: 0 },
  ]);
  expect((await quotas(enterprise)).map(({ allowed }) => allowed)).toEqual([
    2_000_000, 200, 1_000, 200, 30,
  ]);
  const claim =
    await sql`select granted, allowed, used from claim_quota(${free}, 'live', 'domains')`;
  expect([...claim]).toEqual([{ granted: false, allowed: 10, used: 15 }]);
  const [index] =
    await sql`select indisvalid from pg_index where indexrelid = 'api_keys_active'::regclass`;
  expect(index).toEqual({ indisvalid: true });
});
