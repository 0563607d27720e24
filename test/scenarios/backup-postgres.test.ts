/**
 * Goal: a backup of PostgreSQL has the rows of one moment, and a drill and a restore compare all of
 * them. Damaged ones, and those with clicks, are in test/scenarios/backup.test.ts.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { migratePostgres } from "../../api/migrations/migrate.ts";
import { usePostgres } from "../../api/postgres.ts";
import { Backups } from "../../cli/machines/backup/backup.ts";
import { readBackup } from "../../cli/machines/backup/manifest.ts";
import { Directory } from "../../cli/machines/backup/storage.ts";
import { processLog } from "../../shared/log.ts";
import { withDatabase } from "../../shared/postgres.ts";
import { findDebianPostgres, PostgresServer } from "../harness/postgres-server.ts";

const ACCOUNTS = 7;

const programs = findDebianPostgres();

describe.skipIf(programs === undefined)("a backup of PostgreSQL", () => {
  let postgres: PostgresServer;
  const dir = mkdtempSync(join(tmpdir(), "shorthop-backup-"));
  const configDir = mkdtempSync(join(tmpdir(), "shorthop-etc-"));

  const databaseOf = (name = "shorthop") => ({
    url: withDatabase(postgres.url, name),
    env: { ...process.env, PATH: `${programs}/bin:${process.env["PATH"]}` },
  });

  const migrate = (name?: string) =>
    usePostgres(databaseOf(name).url, (sql) => migratePostgres(sql, processLog("test", "silent")));

  const createDatabase = (name: string) =>
    usePostgres(postgres.url, (sql) => sql`create database ${sql(name)}`.then(() => undefined));

  /** Makes a backup in a place of its own. */
  async function backUp(name: string) {
    const storage = new Directory(join(dir, name));
    await new Backups(storage, databaseOf()).make(configDir);
    return { storage, backup: await readBackup(storage) };
  }

  const restoreInto = (name: string, { storage, backup }: Awaited<ReturnType<typeof backUp>>) =>
    new Backups(storage, databaseOf(name)).restore(backup, () => migrate(name));

  beforeAll(async () => {
    postgres = await PostgresServer.startEmpty(programs ?? "");
    writeFileSync(join(configDir, "api.env"), "DASHBOARD_SECRET=of-this-test\n");
    await migrate();
    await usePostgres(postgres.url, async (sql) => {
      await sql`create role shorthop_api`;
      await sql`create role shorthop_worker`;
      await sql`grant select on links to shorthop_api`;
      await sql`
        insert into accounts (id, name, plan, limits)
        select gen_random_uuid(), 'Test', 'pro', '{}' from generate_series(1, ${ACCOUNTS}::integer)`;
    });
  });
  afterAll(async () => {
    await postgres?.[Symbol.asyncDispose]();
    for (const path of [dir, configDir]) rmSync(path, { recursive: true, force: true });
  });

  test("is proven by a drill, which leaves nothing behind, and restored with all privileges", async () => {
    const made = await backUp("whole");
    const { storage, backup } = made;
    expect(backup.manifest.postgres.rows).toMatchObject({ accounts: ACCOUNTS, links: 0 });
    const { rows } = await new Backups(storage, databaseOf()).drill(backup);
    expect(rows).toEqual(backup.manifest.postgres.rows);
    await usePostgres(postgres.url, async (sql) => {
      const databases = await sql`select from pg_database where datname like '%drill'`;
      expect(databases).toHaveLength(0);
    });

    // Also into a schema that was migrated, and has no data yet.
    for (const name of ["empty", "migrated"]) {
      await createDatabase(name);
      if (name === "migrated") await migrate(name);
      const restored = await restoreInto(name, made);
      expect(restored).toMatchObject({ rows: backup.manifest.postgres.rows, lacksRoles: false });
      await usePostgres(databaseOf(name).url, async (sql) => {
        const [row] = await sql<[{ granted: boolean }]>`
          select has_table_privilege('shorthop_api', 'links', 'select') as granted`;
        expect(row.granted).toBe(true);
      });
      expect(restoreInto(name, made)).rejects.toThrow("has data");
    }
    await createDatabase("foreign");
    await usePostgres(databaseOf("foreign").url, (sql) =>
      sql`create table of_others (id integer)`.then(() => undefined),
    );
    expect(restoreInto("foreign", made)).rejects.toThrow("has data");
  });

  test("has a manifest only when it is whole", async () => {
    const storage = new Directory(join(dir, "failed"));
    const database = { ...databaseOf(), env: { PATH: "/nowhere" } };
    expect(new Backups(storage, database).make(undefined)).rejects.toThrow();
    await Bun.sleep(0);
    expect(readBackup(storage)).rejects.toThrow("There is no backup");
  });
});
