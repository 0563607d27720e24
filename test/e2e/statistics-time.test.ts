/**
 * Goal: no account takes more of ClickHouse's time than it has, however few its calls; all others
 * are served as before.
 */
import { expect, test } from "bun:test";

import { decodeId } from "../../shared/ids.ts";
import { createAccount, runQuery, UNLIMITED, withPostgres } from "../harness/admin.ts";
import { type ApiResponse, callOnce, errorSchema, linkSchema } from "../harness/api.ts";
import { forFile } from "../harness/for-file.ts";
import { insertClicksOf } from "../harness/generated-clicks.ts";
import { useStack } from "../harness/stack.ts";

const CLICKS = 300_000;

/**
 * Calls that are sent at a time, and at most. No more than run at once for an account: on a busy
 * machine, those that wait may get 503 before the account has used up its time.
 */
const CONCURRENT = 4;
const CALLS_MAX = 10_000;

const stack = await forFile(useStack());

/** A free account with a link that has clicks, and any number of calls, which no command gives it. */
async function createClickedLink(): Promise<{ key: string; link: string }> {
  const { id, key } = await createAccount(stack, "enterprise", UNLIMITED);
  const account = decodeId("acct", id) ?? "";
  await withPostgres(stack, (sql) => sql`update accounts set plan = 'free' where id = ${account}`);
  const created = await callOnce(`${stack.info().api_url}/v1/links`, {
    key,
    body: { url: "https://example.com/" },
  });
  const link = linkSchema.parse(created.body).id;
  await runQuery(stack, insertClicksOf(account, decodeId("link", link) ?? "", CLICKS));
  return { key, link };
}

const get = (path: string, key: string) => callOnce(`${stack.info().api_url}${path}`, { key });

/**
 * Calls until the account has used up its time: then all that are sent at once are refused, none of
 * them because another has reserved what was left.
 */
async function useUp(send: () => Promise<ApiResponse>): Promise<ApiResponse> {
  for (let sent = 0; sent < CALLS_MAX; sent += CONCURRENT) {
    const responses = await Promise.all(Array.from({ length: CONCURRENT }, send));
    const [first] = responses;
    if (first !== undefined && responses.every(({ status }) => status !== 200)) return first;
  }
  throw new Error(`${CALLS_MAX} calls were answered.`);
}

test("an account that has used up its time waits for its statistics, and for nothing else", async () => {
  const spender = await createClickedLink();
  const other = await createClickedLink();
  // No rollup has the answer, so each call reads all clicks.
  const breakdown = ({ key, link }: typeof spender) =>
    get(`/v1/analytics/${link}/breakdown?period=7d&by=country,referrer&device=-desktop`, key);

  expect((await breakdown(spender)).status).toBe(200);
  const refused = await useUp(() => breakdown(spender));
  const { error } = errorSchema.parse(refused.body);
  expect([refused.status, error.code]).toEqual([429, "rate_limited"]);
  expect(error.message).toContain("statistics took too long");
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);

  const { key, link } = spender;
  for (const path of [
    `/v1/analytics/${link}`,
    `/v1/analytics/${link}/geo`,
    "/v1/analytics",
    "/v1/analytics/failures",
    "/v1/clicks",
    "/v1/clicks/export",
  ]) {
    // Some of the time may have come back meanwhile, but not for many calls.
    expect((await useUp(() => get(path, key))).status).toBe(429);
  }
  expect((await get("/v1/links", key)).status).toBe(200);
  expect((await breakdown(other)).status).toBe(200);
});
