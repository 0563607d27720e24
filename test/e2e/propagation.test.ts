/** Goal: every redirector serves what the API has acknowledged. */
import { expect, test } from "bun:test";

import { createClient } from "../../clients/typescript/src/index.ts";
import { createAccount, UNLIMITED } from "../harness/admin.ts";
import { call } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { startRedirector } from "../harness/processes.ts";
import { useStack } from "../harness/stack.ts";

/** The scenario has more. */
const ROUNDS = Number(process.env["SHORTHOP_TEST_ROUNDS"] ?? 100);

/** Concurrent rounds. */
const CONCURRENCY = 8;

/** Latest propagation of a change to a redirector. */
const PROPAGATION_MS_MAX = 1_000;

const stack = await forFile(useStack());
const second = await forFile(startRedirector(stack));

const { key } = await createAccount(stack, "enterprise", UNLIMITED);
const client = createClient({ baseUrl: stack.info().api_url, apiKey: key });

/** Follows an alias on both redirectors. */
const followAll = (alias: string) =>
  Promise.all(
    [stack.info().short_url, second.url].map(async (redirector) => {
      const { status, headers } = await call(new URL(alias, redirector).href);
      return [status, headers.get("location")];
    }),
  );

const onBoth = (status: number, location: string | null = null) => [
  [status, location],
  [status, location],
];

/** The longest time that a change took. */
let slowest = 0;

/** Waits until both redirectors respond like this. */
async function expectSoon(alias: string, status: number, location?: string) {
  const before = performance.now();
  await eventually(
    async () => expect(await followAll(alias)).toEqual(onBoth(status, location)),
    PROPAGATION_MS_MAX,
  );
  slowest = Math.max(slowest, performance.now() - before);
}

async function round(i: number): Promise<void> {
  const alias = `round-${i}`;
  const { id } = await client.links.create({ url: `https://example.com/${i}`, alias });
  expect(await followAll(alias)).toEqual(onBoth(302, `https://example.com/${i}`));
  await client.links.update(id, { url: `https://example.com/${i}/changed` });
  await expectSoon(alias, 302, `https://example.com/${i}/changed`);
  await client.links.delete(id);
  await expectSoon(alias, 404);
}

test("links redirect at once on two redirectors, and their changes and deletions take effect within a second", async () => {
  for (let start = 0; start < ROUNDS; start += CONCURRENCY) {
    await Promise.all(Array.from({ length: CONCURRENCY }, (_, i) => round(start + i)));
  }
  console.log(`slowest of ${2 * ROUNDS} changes: ${slowest.toFixed(0)} ms`);
});

test("a renamed link leaves its alias to another one", async () => {
  const { id } = await client.links.create({ url: "https://example.com/renamed", alias: "before" });
  expect(await followAll("before")).toEqual(onBoth(302, "https://example.com/renamed"));
  await client.links.update(id, { alias: "after" });
  await expectSoon("after", 302, "https://example.com/renamed");
  await expectSoon("before", 404);
  await client.links.create({ url: "https://example.com/next", alias: "before" });
  await expectSoon("before", 302, "https://example.com/next");
});

test("deletions and creations of one alias never leave an old state behind", async () => {
  for (let i = 0; i < 50; i++) {
    const url = `https://example.com/round-${i}`;
    const { id } = await client.links.create({ url, alias: "revolving" });
    await expectSoon("revolving", 302, url);
    await client.links.delete(id);
  }
});
