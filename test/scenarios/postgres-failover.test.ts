/**
 * Goal: with several PostgreSQL hosts only the primary is used, and a failover costs requests a 503
 * at most.
 */
import { expect, test } from "bun:test";

import { schemaState } from "../../api/migrations/migrate.ts";
import { isUnavailable, postgresPool } from "../../api/postgres.ts";
import { call, callOnce, linkSchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { startPostgresPair } from "../harness/postgres-pair.ts";
import { startApi } from "../harness/processes.ts";
import { runProgram } from "../harness/run-program.ts";
import { startStack } from "../harness/stack.ts";

const RECOVERY_MS = 30_000;

const OUTPUT_CHARACTERS = 4_000;

test("a failover to a streaming standby answers 503 with Retry-After, never 500, and loses no acknowledged link", async () => {
  await using stack = await startStack();
  await using cleanup = new AsyncDisposableStack();
  await using pair = await startPostgresPair("created_by_migrate");

  const sql = postgresPool(pair.url, 2);
  cleanup.defer(() => sql.end({ timeout: 1 }));
  expect(sql`select 1`).rejects.toThrow("does not exist");
  await runProgram(["api", "migrate"], { DATABASE_URL: pair.url });
  const [row] = await sql<[{ standby: boolean }]>`select pg_is_in_recovery() as standby`;
  expect(row.standby).toBe(false);
  expect(await schemaState(sql)).toBe("ok");

  const api = await startApi(stack, { DATABASE_URL: pair.url });
  cleanup.defer(() => api.stop());
  const create = ["accounts", "create", "--name", "Pair", "--plan", "enterprise"];
  const { key } = JSON.parse(
    await runProgram([...create, "--key", "--json"], { DATABASE_URL: pair.url }),
  );
  /** Sends a request once; a process that ended has said why. */
  const send: typeof callOnce = (url, options) =>
    callOnce(url, options).catch((error: unknown) => {
      throw new Error(api.output().slice(-OUTPUT_CHARACTERS), { cause: error });
    });
  const acknowledged: string[] = [];
  const statuses = new Map<number, number>();
  let stopped = false;
  const writer = (async () => {
    for (let i = 0; !stopped; i++) {
      const alias = `failover-${i}`;
      const body = { url: "https://example.com/failover", alias };
      const { status, headers } = await send(`${api.url}/v1/links`, { key, body });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 201) acknowledged.push(alias);
      if (status === 503) expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
      await Bun.sleep(20);
    }
  })();
  const reader = (async () => {
    while (!stopped) {
      const { status } = await send(`${api.url}/v1/links?limit=1`, { key });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      await Bun.sleep(20);
    }
  })();
  const acknowledgedMore = (count: number) => {
    const before = acknowledged.length;
    return eventually(async () => {
      expect(acknowledged.length).toBeGreaterThan(before + count);
    }, RECOVERY_MS);
  };

  await acknowledgedMore(20);
  const interruptedAt = performance.now();
  await pair.killPrimary();
  // Only the standby is left, which must not be used.
  const unavailable = await sql`select 1`.catch((error: unknown) => error);
  expect(isUnavailable(unavailable)).toBe(true);
  await eventually(
    async () => expect((await callOnce(`${api.metricsUrl}/readyz`)).status).toBe(503),
    RECOVERY_MS,
  );
  await pair.promote();
  await acknowledgedMore(0);
  console.log(`interruption: ${Math.round(performance.now() - interruptedAt)} ms`);
  await acknowledgedMore(20);
  stopped = true;
  await Promise.all([writer, reader]);
  console.log(`statuses: ${JSON.stringify([...statuses])}`);
  for (const status of statuses.keys()) expect([200, 201, 503]).toContain(status);
  expect(statuses.get(503)).toBeGreaterThan(0);
  expect((await callOnce(`${api.metricsUrl}/readyz`)).status).toBe(200);

  const rows = await sql<{ alias: string }[]>`select alias from links`;
  const present = new Set(rows.map(({ alias }) => alias));
  expect(acknowledged.filter((alias) => !present.has(alias))).toEqual([]);
  const { body } = await call(`${api.url}/v1/links`, {
    key,
    body: { url: "https://example.com/" },
  });
  expect(linkSchema.parse(body).alias).toBeTruthy();
}, 240_000);
