/**
 * Goal: each process has the rights in PostgreSQL that it needs, and the checks name what is
 * missing. That it has no more is in test/scenarios/credentials.test.ts.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";

import { migratePostgres } from "../../api/migrations/migrate.ts";
import {
  findExcessPrivilege,
  postgresPool,
  requireOwnership,
  requirePrivileges as requireApiPrivileges,
  type Sql,
} from "../../api/postgres.ts";
import { processLog } from "../../shared/log.ts";
import { startPostgres, type TestPostgres } from "../../test/harness/postgres.ts";
import { requirePrivileges as requireWorkerPrivileges } from "../../worker/checks.ts";

const psql = Bun.which("psql");
if (psql === null) console.warn("\n!!! psql is not installed: roles and grants are NOT TESTED\n");

const PASSWORDS = { API_PASSWORD: "of the api", WORKER_PASSWORD: "of the worker" };

describe.skipIf(psql === null)("the roles of PostgreSQL", () => {
  let postgres: TestPostgres;
  let api: Sql;
  let worker: Sql;

  /** Runs one of the shipped files, as an operator does. */
  function runFile(name: string): void {
    const { password } = new URL(postgres.url);
    const file = join(import.meta.dir, name);
    const { exitCode, stderr } = Bun.spawnSync(
      [psql ?? "", postgres.url, "--no-psqlrc", "--quiet", "--file", file],
      { env: { ...process.env, OWNER_PASSWORD: decodeURIComponent(password), ...PASSWORDS } },
    );
    expect([exitCode, stderr.toString()]).toEqual([0, ""]);
  }

  const openAs = (role: string, password: string): Sql => {
    const url = new URL(postgres.url);
    url.username = role;
    url.password = password;
    return postgresPool(url.href, 1);
  };

  beforeAll(async () => {
    postgres = await startPostgres({ ownServer: true });
    // As on a new server: the roles come before the tables.
    await postgres.sql`drop schema public cascade`;
    await postgres.sql`create schema public`;
    runFile("roles.sql");
    api = openAs("shorthop_api", PASSWORDS.API_PASSWORD);
    worker = openAs("shorthop_worker", PASSWORDS.WORKER_PASSWORD);
    expect(requireApiPrivileges(api)).rejects.toThrow("has no schema");
    expect(requireWorkerPrivileges(worker)).rejects.toThrow("has no schema");
    await migratePostgres(postgres.sql, processLog("test", "silent"));
    expect(requireWorkerPrivileges(worker)).rejects.toThrow(
      "lacks SELECT on link_counters, UPDATE on link_counters",
    );
    runFile("grants.sql");
  });
  afterAll(async () => {
    await api.end();
    await worker.end();
    await postgres[Symbol.asyncDispose]();
  });

  test("the check of privileges names what is missing", async () => {
    await requireApiPrivileges(api);
    await requireWorkerPrivileges(worker);
    await postgres.sql`revoke delete on links from shorthop_api`;
    expect(requireApiPrivileges(api)).rejects.toThrow("lacks privileges on links");
    await postgres.sql`grant delete on links to shorthop_api`;
    await postgres.sql`revoke select on plans from shorthop_api`;
    expect(requireApiPrivileges(api)).rejects.toThrow("lacks privileges on plans");
    await postgres.sql`grant select on plans to shorthop_api`;
  });

  test("only the owner may migrate, and a role of the API that may do more than it needs is named", async () => {
    const owner = openAs("shorthop", new URL(postgres.url).password);
    await requireOwnership(postgres.sql);
    expect(requireOwnership(api)).rejects.toThrow("the role shorthop_api does not own the tables");
    expect(await findExcessPrivilege(api)).toBeUndefined();
    expect(await findExcessPrivilege(owner)).toMatch(/^the role shorthop (owns|is a superuser)/);
    await owner.end();
  });

  test("running the files again changes nothing", async () => {
    runFile("roles.sql");
    runFile("grants.sql");
    await requireApiPrivileges(api);
  });

  test("the roles can be made after the tables", async () => {
    await postgres.sql`revoke all on all tables in schema public from shorthop_api`;
    await postgres.sql`revoke all on all sequences in schema public from shorthop_api`;
    expect(requireApiPrivileges(api)).rejects.toThrow("lacks privileges on");
    runFile("grants.sql");
    await requireApiPrivileges(api);
  });
});
