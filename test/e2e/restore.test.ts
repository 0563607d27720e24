/** Goal: a backup of PostgreSQL, ClickHouse and the secrets is sufficient for a restore. */
import { expect, test } from "bun:test";
import { join } from "node:path";

import { createClient } from "../../clients/typescript/src/index.ts";
import { admin, createAccount } from "../harness/admin.ts";
import { call } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { createDataDir, removeDataDir, type Stack, startStack } from "../harness/stack.ts";

const TIMEOUT_MS = 20_000;

/** The backup described in docs/operations.md. Without NATS, whose stream is restored by a resync. */
const BACKED_UP = ["postgres", "clickhouse", "secrets.json"];

test("links, keys and analytics are the same after a restore, and links redirect", async () => {
  const [from, to] = [createDataDir(), createDataDir()];
  let key = "";
  const before = await (async () => {
    await using stack = await startStack({ dataDir: from });
    ({ key } = await createAccount(stack, "enterprise"));
    const client = connectClient(stack, key);
    for (let i = 0; i < 5; i++)
      await client.links.create({
        url: `https://example.com/${i}`,
        alias: `restored-${i}`,
        tags: ["restored"],
      });
    for (let i = 0; i < 20; i++)
      await call(new URL(`restored-${i % 3}`, stack.info().short_url).href);
    await eventually(async () => {
      const { data } = await client.links.list();
      expect(data.reduce((sum, { clicks }) => sum + clicks, 0)).toBe(20);
    }, TIMEOUT_MS);
    return await readState(client);
  })();

  expect(Bun.spawnSync(["mkdir", to]).exitCode).toBe(0);
  for (const name of BACKED_UP) {
    expect(Bun.spawnSync(["cp", "-a", join(from, name), join(to, name)]).exitCode).toBe(0);
  }
  removeDataDir(from);
  await using stack = await startStack({ dataDir: to });
  expect(await readState(connectClient(stack, key))).toEqual(before);
  const { queued } = await admin<{ queued: number }>(stack, ["links", "resync"]);
  expect(queued).toBeGreaterThanOrEqual(5);
  await eventually(async () => {
    for (let i = 0; i < 5; i++) {
      const { status, headers } = await call(new URL(`restored-${i}`, stack.info().short_url).href);
      expect([status, headers.get("location")]).toEqual([302, `https://example.com/${i}`]);
    }
  }, TIMEOUT_MS);
  await stack.stop();
  removeDataDir(to);
});

const connectClient = (stack: Stack, apiKey: string) =>
  createClient({ baseUrl: stack.info().api_url, apiKey });

/** Reads everything that a client can see; of short URLs only the path, because the port changes. */
async function readState(client: ReturnType<typeof createClient>): Promise<unknown> {
  const { data } = await client.links.list();
  const summaries = await Promise.all(data.map(({ id }) => client.analytics.summary(id)));
  const keys = await Array.fromAsync(client.keys.all());
  return {
    links: data.map((link) => ({ ...link, short_url: new URL(link.short_url).pathname })),
    summaries,
    countries: await Promise.all(data.map(({ id }) => client.analytics.geo(id))),
    keys: keys.map(({ id, name, scopes }) => ({ id, name, scopes })),
  };
}
