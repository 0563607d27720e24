/** Goal: every redirector serves what the API has acknowledged. */
import { expect, test } from "bun:test";

import { createClient } from "../../clients/typescript/src/index.ts";
import { createAccount, UNLIMITED } from "../harness/admin.ts";
import { call } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { startRedirector } from "../harness/processes.ts";
import { useStack } from "../harness/shared-stack.ts";

/** The scenario has more. */
const ROUNDS = Number(process.env["SHORTHOP_TEST_ROUNDS"] ?? 100);

/** Concurrent rounds. */
const CONCURRENCY = 8;

/** Latest propagation of a change to a redirector. */
const PROPAGATION_MS_MAX = 1_000;

const stack = await forFile(useStack());
const second = await forFile(startRedirector(stack), (second) => second.stop());

test("links redirect at once on two redirectors, and their changes and deletions take effect within a second", async () => {
  const { key } = await createAccount(stack, "enterprise", UNLIMITED);
  const client = createClient({ baseUrl: stack.info().api_url, apiKey: key });
  const redirectors = [stack.info().short_url, second.url];
  const followAll = (alias: string) =>
    Promise.all(
      redirectors.map(async (redirector) => {
        const { status, headers } = await call(new URL(alias, redirector).href);
        return [status, headers.get("location")];
      }),
    );
  const onBoth = (status: number, location: string | null) =>
    redirectors.map(() => [status, location]);
  let slowest = 0;

  /** Waits until both redirectors respond like this, and records the longest delay. */
  async function expectSoon(alias: string, status: number, location: string | null) {
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
    await expectSoon(alias, 404, null);
  }

  for (let start = 0; start < ROUNDS; start += CONCURRENCY) {
    await Promise.all(Array.from({ length: CONCURRENCY }, (_, i) => round(start + i)));
  }
  console.log(`slowest of ${2 * ROUNDS} changes: ${slowest.toFixed(0)} ms`);
});
