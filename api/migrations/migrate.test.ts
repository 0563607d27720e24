import { expect, test } from "bun:test";

import { processLog } from "../../shared/log.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { longTest } from "../../test/harness/property-runs.ts";
import { postgresPool } from "../postgres.ts";
import { migratePostgres, migrations, schemaState } from "./migrate.ts";

longTest(
  "a migration that waits for a locked table lets requests pass, and is applied when the lock is gone",
  async () => {
    await using database = await startPostgres();
    const { sql } = database;
    const added = {
      id: 1_000,
      name: "added",
      text: "create index concurrently if not exists added on api_keys (name);\n",
      concurrent: true,
    } as const;

    const holder = postgresPool(database.url, 1);
    const [held, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const holding = holder.begin(async (transaction) => {
      await transaction`lock table api_keys in access exclusive mode`;
      held.resolve();
      await release.promise;
    });
    await held.promise;
    let retried = false;
    const log = processLog("test", "silent");
    log.warn = () => void (retried = true);
    const migrating = migratePostgres(sql, log, [...migrations, added]);
    await eventually(async () => expect(retried).toBe(true));
    release.resolve();
    await Promise.all([holding, migrating]);
    const [index] = await sql`select indisvalid from pg_index where indexrelid = 'added'::regclass`;
    expect(index).toEqual({ indisvalid: true });
    await holder.end();
  },
  240_000,
);

test.each([
  ["ascii_cases", "encoding 'UTF8' locale_provider libc locale 'C'"],
  ["bytes", "encoding 'SQL_ASCII' locale_provider libc locale 'C'"],
])(
  "a database that has the letters of %s is refused, and what to do is said",
  async (name, options) => {
    await using database = await startPostgres();
    await database.sql.unsafe(`create database ${name} template template0 ${options}`);
    const sql = postgresPool(database.url.replace(/\/[^/]*$/, `/${name}`), 1);
    const problem = await migratePostgres(sql, processLog("test", "silent")).catch(String);
    expect(problem).toContain(`create database ${name} template template0 encoding 'UTF8'`);
    expect(await schemaState(sql)).toContain("is not applied");
    await sql.end();
  },
  240_000,
);

test("a database without any table is not migrated, and says so", async () => {
  await using database = await startPostgres();
  await database.sql`create database empty`;
  const sql = postgresPool(database.url.replace(/\/[^/]*$/, "/empty"), 1);
  expect(await schemaState(sql)).toContain("is not applied: run shorthop migrate");
  await sql.end();
}, 240_000);
