/**
 * Goal: each process has the grants in ClickHouse that it needs, and the checks name those that are
 * missing.
 */
import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { checks as apiChecks } from "../../api/checks.ts";
import { configSchema as apiSchema } from "../../api/config.ts";
import { readRequests, requestRepair } from "../../shared/clicks/rollups.ts";
import { readWholeFrom, rememberRetention } from "../../shared/clicks/whole-clicks.ts";
import { loadConfig } from "../../shared/env.ts";
import { processLog } from "../../shared/log.ts";
import { type Check, type Finding, runChecks } from "../../shared/preflight.ts";
import { dirForFile } from "../../test/harness/for-file.ts";
import { SIGNING_KEY } from "../../test/harness/links-log.ts";
import { longTest } from "../../test/harness/property-runs.ts";
import { checks as workerChecks, migrateChecks } from "../../worker/checks.ts";
import { connectClickHouse } from "../../worker/clickhouse.ts";
import { configSchema as workerSchema } from "../../worker/config.ts";
import {
  ensureDatabase,
  migrateClickHouse,
  setRetention,
} from "../../worker/migrations/migrate.ts";
import { configure, Engine } from "../local/clickhouse/engine.ts";
import { Gateway } from "../local/clickhouse/gateway.ts";

const SHIPPED = readFileSync(join(import.meta.dir, "users.xml"), "utf8");
const CREDENTIALS = { user: "shorthop", password: "password of this test" };

const dir = dirForFile("shorthop-grants-");

/** The grants of a user in the shipped file. */
function grantsOf(user: string): string[] {
  const [, block = ""] = new RegExp(`<${user}>([^]*?)</${user}>`).exec(SHIPPED) ?? [];
  return [...block.matchAll(/<query>(.*?)<\/query>/g)].map(([, grant = ""]) => grant);
}

/** Starts the engine with these grants on the same tables, and passes the URL of its database. */
async function withGrants<T>(
  grants: readonly string[],
  work: (url: string) => Promise<T>,
): Promise<T> {
  const engine = new Engine(join(dir, "data"), configure(join(dir, "configuration"), grants));
  const { user, password } = CREDENTIALS;
  const gateway = new Gateway(engine, `${user}:${password}`, { host: "127.0.0.1", port: 0 });
  try {
    const url = new URL("/shorthop", gateway.url);
    url.username = user;
    url.password = password;
    return await work(url.href);
  } finally {
    await gateway.stop();
    await engine.close();
  }
}

async function migrate(url: string): Promise<void> {
  await ensureDatabase(url);
  const client = connectClickHouse(url);
  await migrateClickHouse(client, processLog("test", "silent"));
  await rememberRetention(client);
  await setRetention(client, { clicksDays: 30, rollupsDays: 0 });
  await rememberRetention(client);
  await requestRepair(client, { from: 0, to: 1 });
  expect(await readRequests(client)).toHaveLength(1);
  await client.close();
}

/** Runs those checks that are about ClickHouse. */
const examine = (checks: readonly Check[]): Promise<Finding[]> =>
  runChecks(checks.filter(({ name }) => /clickhouse/i.test(name)));

/** The configuration of a process on this ClickHouse; its other stores are not asked. */
const environment = (url: string) => ({
  CLICKHOUSE_URL: url,
  DATABASE_URL: "postgres://localhost/none",
  NATS_URL: "nats://localhost",
  SHORT_URL: "http://localhost",
  VISITOR_HASH_SECRET: "secret of this test",
  LINKS_SIGNING_KEY: SIGNING_KEY,
});
const workerConfig = (url: string) => loadConfig(workerSchema, environment(url));
const apiConfig = (url: string) => loadConfig(apiSchema, environment(url));

async function expectOk(checks: readonly Check[]): Promise<void> {
  for (const finding of await examine(checks)) expect(finding).toMatchObject({ status: "ok" });
}

longTest(
  "the shipped grants suffice to migrate, store and read, and a missing one is named",
  async () => {
    await withGrants(grantsOf("owner"), async (url) => {
      const config = workerConfig(url);
      const [, before] = await examine(migrateChecks.required(config));
      expect(before).toMatchObject({ status: "failed", mend: "Run shorthop migrate." });
      await migrate(url);
      await expectOk(migrateChecks.required(config));
    });
    await withGrants(grantsOf("worker"), async (url) => {
      const config = workerConfig(url);
      await expectOk(workerChecks.required(config));
      await expectOk(workerChecks.thorough?.(config) ?? []);
      const client = connectClickHouse(url);
      await requestRepair(client, { from: 0, to: 1 });
      expect(await readRequests(client)).toHaveLength(2);
      await client.close();
      const [migrating] = await examine(migrateChecks.required(config));
      expect(migrating).toMatchObject({ status: "failed" });
      expect(migrating?.detail).toStartWith("lacks CREATE TABLE");
    });
    await withGrants(grantsOf("api"), async (url) => {
      const [api] = await examine(apiChecks.required(apiConfig(url)));
      expect(api).toEqual({ check: "CLICKHOUSE_URL", status: "ok" });
      const client = connectClickHouse(url);
      expect(await readWholeFrom(client)).toBeLessThan(Infinity);
      await client.close();
      const [worker] = await examine(workerChecks.required(workerConfig(url)));
      expect(worker).toMatchObject({ status: "failed", detail: "lacks INSERT on shorthop" });
    });
  },
);
