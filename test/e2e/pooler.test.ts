/**
 * Goal: API and worker run behind a pooler in transaction mode. Here the ways in which statements
 * differ; `bun run test:pooler` runs the files of the whole API so.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { createClient } from "../../clients/typescript/src/index.ts";
import { openPrimary } from "../../shared/postgres.ts";
import { createAccount, runAdmin } from "../harness/admin.ts";
import { call } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { findPgbouncer } from "../harness/pgbouncer.ts";
import { type PooledPostgres, startPooledPostgres } from "../harness/pooled-postgres.ts";
import { readReadiness } from "../harness/services.ts";
import { type Stack, startStack } from "../harness/stack.ts";

const TIMEOUT_MS = 20_000;

/** More at a time than the pooler has connections, several times over. */
const AT_ONCE = 60;

const UNLIMITED = {
  minute: 100_000,
  burst: 100_000,
  endpoints: { "POST /v1/links": 100_000 },
};

const skipped = (await findPgbouncer()) === undefined;

describe.skipIf(skipped)("behind a pooler", () => {
  let pooled: PooledPostgres | undefined;
  let stack: Stack;
  beforeAll(async () => {
    pooled = await startPooledPostgres();
    stack = await startStack({ env: pooled?.env ?? {} });
  });
  afterAll(async () => {
    await stack?.[Symbol.asyncDispose]();
    await pooled?.[Symbol.asyncDispose]();
  });

  test("links are made, found, changed and followed by more requests at once than it has connections", async () => {
    const { api_url: baseUrl, short_url } = stack.info();
    const { key } = await createAccount(stack, "enterprise", UNLIMITED);
    const client = createClient({ baseUrl, apiKey: key });
    const url = "https://example.com/pooled";
    const one = (i: number) =>
      client.links.create({ url, alias: `pooled-${i}`, tags: ["pooled", `tag-${i % 3}`] });
    const made = await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => one(i)));
    const many = Array.from({ length: AT_ONCE }, (_, i) => ({ url, alias: `bulk-${i}` }));
    expect(await client.links.createMany(many)).toMatchObject({ created: AT_ONCE });
    await Promise.all(made.map(({ id }) => client.links.update(id, { title: "changed" })));
    const listed = await Array.fromAsync(client.links.all({ tag: "pooled" }));
    expect(listed.map(({ title }) => title)).toEqual(made.map(() => "changed"));
    expect((await Array.fromAsync(client.tags.all())).length).toBe(4);
    // A retried request with the same key is answered as the first.
    const twice = await Promise.all(
      [0, 1].map(() =>
        call(`${baseUrl}/v1/links`, {
          key,
          body: { url, alias: "idempotent" },
          headers: { "idempotency-key": "pooled" },
        }),
      ),
    );
    expect(twice.map(({ status }) => status)).toEqual([201, 201]);
    for (let i = 0; i < 5; i++) await call(new URL("pooled-1", short_url).href);
    await eventually(async () => {
      expect((await client.links.get(made[1]?.id ?? "")).clicks).toBe(5);
    }, TIMEOUT_MS);
    const { parts } = await readReadiness(stack.info().api_metrics_url);
    expect(parts).toMatchObject({ postgres: "ok" });
  });

  test("a lock of a transaction is one of the server, whichever connection has it", async () => {
    const url = stack.info().database_url;
    const [first, second] = [openPrimary(url, { max: 1 }), openPrimary(url, { max: 1 })];
    await first.begin(async (transaction) => {
      await transaction`select pg_advisory_xact_lock(42)`;
      const [row] = await second`select pg_try_advisory_xact_lock(42) as locked`;
      expect(row?.["locked"]).toBe(false);
    });
    const [row] = await second`select pg_try_advisory_xact_lock(42) as locked`;
    expect(row?.["locked"]).toBe(true);
    await Promise.all([first.end(), second.end()]);
  });

  test("migrations go past it, and are rejected without a way to", async () => {
    const { clickhouse_url: CLICKHOUSE_URL } = stack.info();
    const env = { ...pooled?.env, CLICKHOUSE_URL };
    expect(await runAdmin(stack, ["migrate"], env)).toMatchObject({ code: 0 });
    const without = await runAdmin(stack, ["migrate"], { ...env, DATABASE_DIRECT_URL: "" });
    expect(without.code).toBe(1);
    expect(without.stderr + without.stdout).toContain("DATABASE_DIRECT_URL: must lead past");
  });
});
