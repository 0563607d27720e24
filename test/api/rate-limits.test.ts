/**
 * Goal: access exactly as often as its plan allows, regardless of the number of API processes; none
 * after the revocation of a key; and a clear response while PostgreSQL is away.
 */
import { describe, expect, test } from "bun:test";

import * as z from "zod";

import { budgets } from "../../api/limits/budgets.ts";
import { decodeId, newUuid } from "../../shared/ids.ts";
import { createAccount, createKey, setPlan, suspendAccount } from "../harness/admin.ts";
import { ApiInProcess } from "../harness/api-in-process.ts";
import { type ApiResponse, call, callOnce, codeOf, errorSchema } from "../harness/api.ts";
import { eventually, SLOWDOWN_MAX } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { expectLimitHeaders } from "../harness/limit-headers.ts";
import { longTest } from "../harness/property-runs.ts";

/** Latest response of a service whose database is unreachable. */
const UNAVAILABLE_WITHIN_MS = 2_000;

const stack = await forFile(ApiInProcess.start({ ownServer: true }));
const second = await stack.startApi();
const account = await createAccount(stack, "enterprise", { minute: 100_000, burst: 100_000 });

const api = (path: string) => `${stack.info().api_url}${path}`;
describe("the revocation of a key", () => {
  longTest("takes effect at once on every process, under fifty connections", async () => {
    const { id, key } = await createKey(stack, account.id, "links:read");
    let revokedAt = Infinity;
    let late = 0;
    let before = 0;
    let rejected = 0;
    await Promise.all([
      ...Array.from({ length: 50 }, async (_, i) => {
        const url = `${i % 2 === 0 ? stack.info().api_url : second.url}/v1/links/link_none`;
        while (rejected < 500) {
          const startedAt = performance.now();
          const { status } = await call(url, { key });
          if (status === 404) {
            if (startedAt > revokedAt) late++;
            else before++;
          } else if (status === 403) rejected++;
        }
      }),
      (async () => {
        await eventually(async () => expect(before).toBeGreaterThanOrEqual(200), 30_000);
        expect(
          (await call(api(`/v1/keys/${id}`), { key: account.key, method: "DELETE" })).status,
        ).toBe(200);
        revokedAt = performance.now();
      })(),
    ]);
    expect(before).toBeGreaterThanOrEqual(200);
    expect(late).toBe(0);
  });
});

describe("rate limits", () => {
  test("of the plans are exact over up to four processes", async () => {
    const more = await Promise.all([stack.startApi(), stack.startApi()]);
    const urls = [stack.info().api_url, second.url, ...more.map(({ url }) => url)];
    // Their limits of a second stretch the use of a minute's limit over ten seconds.
    await stack.database.sql`update plans set per_second = per_minute / 2`;
    await Promise.all(
      [["free", 2, 60] as const, ["pro", 4, 300] as const, ["business", 4, 1_000] as const].map(
        async ([plan, processes, perMinute]) => {
          const { key } = await createAccount(stack, plan);
          const used = urls.slice(0, processes);
          const { granted, unanswered, rejected } = await useUp(used, key, "/v1/links/link_none");
          expect(granted, plan).toBeLessThanOrEqual(perMinute);
          expect(granted + unanswered, plan).toBeGreaterThanOrEqual(perMinute);
          const policies = rejected.map(({ headers }) => headers.get("x-ratelimit-policy"));
          expect(policies).toContain(`${perMinute};w=60`);
        },
      ),
    );
  });

  test.each([
    ["GET /v1/analytics/*", "GET", "/v1/analytics/link_none", 120, 60],
    ["POST /v1/links", "POST", "/v1/links", 100, 3_600],
    ["POST /v1/analytics/bulk", "POST", "/v1/analytics/bulk", 10, 60],
    ["POST /v1/domains", "POST", "/v1/domains", 10, 3_600],
  ] as const)(
    "of the endpoint %s are exact over two processes",
    async (_name, method, path, limit, seconds) => {
      const { key } = await createAccount(stack, "enterprise", { minute: 10_000, burst: 10_000 });
      const bodies: Record<string, unknown> = {
        "/v1/links": { url: "https://example.com/limited" },
        "/v1/analytics/bulk": { link_ids: ["link_none"] },
        "/v1/domains": { domain: "limited.example.com" },
      };
      const body = bodies[path];
      const responses = await Promise.all(
        Array.from({ length: 200 }, (_, i) =>
          callOnce(`${i % 2 === 0 ? api("") : second.url}${path}`, { method, key, body }),
        ),
      );
      const rejected = responses.filter(({ status }) => status === 429);
      // On a stalled machine some get 503, before or after they are counted.
      const unanswered = responses.filter(({ status }) => status === 503).length;
      expect(rejected.length).toBeLessThanOrEqual(200 - limit);
      expect(rejected.length + unanswered).toBeGreaterThanOrEqual(200 - limit);
      for (const { headers } of rejected)
        expect(headers.get("x-ratelimit-policy")).toBe(`${limit};w=${seconds}`);
      // Other endpoints are not affected.
      expect((await call(api("/v1/links/link_none"), { key })).status).toBe(404);
    },
  );

  test("accept a client again once it has waited as long as Retry-After says", async () => {
    const { key } = await createAccount(stack, "enterprise", { burst: 3, minute: 1_000 });
    const hit = () => call(api("/v1/links/link_none"), { key });
    let response = await hit();
    while (response.status !== 429) response = await hit();
    // What a client does: it waits exactly as long, and the next request is accepted.
    await Bun.sleep(1_000 * Number(response.headers.get("retry-after")));
    expect((await hit()).status).toBe(404);
  });

  test("lead to a suspension when they are exceeded repeatedly, which an operator can lift", async () => {
    const { id, key } = await createAccount(stack, "enterprise", { minute: 2, burst: 1_000 });
    const hit = () => call(api("/v1/links/link_none"), { key });
    const suspended = await eventually(async () => {
      const responses = await Promise.all(Array.from({ length: 10 }, hit));
      const found = responses.find(({ body }) => JSON.stringify(body).includes("suspended"));
      if (found === undefined) throw new Error("Not suspended yet.");
      return found;
    }, 20_000);
    expect(codeOf(suspended)).toEqual([429, "rate_limited"]);
    expect(Number(suspended.headers.get("retry-after"))).toBeGreaterThan(590);
    await suspendAccount(stack, id, 0);
    await setPlan(stack, id, "business");
    await eventually(async () => expect((await hit()).status).toBe(404));
    await suspendAccount(stack, id);
    await eventually(async () => expect(codeOf(await hit())).toEqual([403, "forbidden"]));
  });
});

describe("GET /v1/limits", () => {
  test("answers a key 50 times in 3 seconds, then says when to ask again, and consumes nothing", async () => {
    const { key } = await createAccount(stack, "pro");
    const responses = await Promise.all(
      Array.from({ length: 80 }, () => callOnce(api("/v1/limits"), { key })),
    );
    const [rejected, answered] = [429, 200].map((status) =>
      responses.filter((response) => response.status === status),
    );
    // A busy machine may see a second window begin.
    expect(answered?.length).toBeWithin(50, 80);
    for (const { body } of answered ?? [])
      for (const { limit, remaining } of windowsSchema.parse(body).limits)
        expect(remaining).toBe(limit);
    const [first] = rejected ?? [];
    if (first === undefined) throw new Error("No request was rejected.");
    expect(codeOf(first)).toEqual([429, "rate_limited"]);
    expect(Number(first.headers.get("retry-after"))).toBeWithin(1, 4);
    expect(first.headers.get("x-ratelimit-policy")).toBe("50;w=3");
    expect((await call(api("/v1/links/link_none"), { key })).status).toBe(404);
  });

  test("lists the budgets that the caller can meet, with what is left of each", async () => {
    const { id, key } = await createAccount(stack, "pro");
    const payer = { accountId: decodeId("acct", id) ?? newUuid(), plan: "pro" };
    budgets.spend(payer, "link_passwords", 500 + 1_000);
    const { body } = await call(api("/v1/limits"), { key });
    const listed = new Map(
      budgetsSchema.parse(body).budgets.map(({ name, ...budget }) => [name, budget]),
    );
    expect(listed.has("statistics")).toBe(true);
    // Strangers meet it, and operators see it.
    expect(listed.has("click_event_bytes")).toBe(false);
    const budget = { unit: "passwords", limit: 500, remaining: 0, per_hour: 13_500 };
    expect(listed.get("link_passwords")).toMatchObject(budget);
  });
});

const windowsSchema = z.object({
  limits: z.array(z.object({ limit: z.int(), remaining: z.int() })),
});
const budgetsSchema = z.object({ budgets: z.array(z.looseObject({ name: z.string() })) });

describe("while PostgreSQL is unavailable", () => {
  test("the API responds with 503 in time, and recovers by itself", async () => {
    const { api_url, api_key } = stack.info();
    stack.database.pause();
    const started = performance.now();
    const response = await callOnce(`${api_url}/v1/links/link_none`, { key: api_key });
    const took = performance.now() - started;
    stack.database.resume();
    expect(codeOf(response)).toEqual([503, "unavailable"]);
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    expectLimitHeaders(response);
    expect(took).toBeLessThan(UNAVAILABLE_WITHIN_MS * SLOWDOWN_MAX);
    await eventually(async () => {
      expect((await call(`${api_url}/v1/links/link_none`, { key: api_key })).status).toBe(404);
    });
  });

  test("an API process that never reached it responds with 503 too", async () => {
    const unreachable = await stack.startApi({ DATABASE_URL: "postgres://u:p@127.0.0.1:9/x" });
    const started = performance.now();
    const response = await callOnce(`${unreachable.url}/v1/limits`, { key: account.key });
    expect(performance.now() - started).toBeLessThan(UNAVAILABLE_WITHIN_MS * SLOWDOWN_MAX);
    expect(codeOf(response)).toEqual([503, "unavailable"]);
    expect((await call(`${unreachable.url}/v1/limits`, { key: "nonsense" })).status).toBe(401);
  });
});

/**
 * Sends requests from fifty clients to all processes, respecting Retry-After, until a minute's
 * limit is used up.
 */
async function useUp(urls: readonly string[], key: string, path: string) {
  let granted = 0;
  // On a stalled machine some get 503, before or after they are counted.
  let unanswered = 0;
  const rejected: ApiResponse[] = [];
  const clients = Array.from({ length: 50 }, async (_, i) => {
    for (;;) {
      const response = await callOnce(`${urls[i % urls.length]}${path}`, { key });
      if (response.status === 503) {
        unanswered++;
        await Bun.sleep(1_000);
        continue;
      }
      expectLimitHeaders(response);
      if (response.status !== 429) {
        granted++;
        continue;
      }
      rejected.push(response);
      const { error } = errorSchema.parse(response.body);
      expect(error.code).toBe("rate_limited");
      expect(response.headers.get("retry-after")).toBe(String(error.retry_after));
      expect(response.headers.get("x-ratelimit-remaining")).toBe("0");
      expect(response.headers.get("content-type")).toStartWith("application/json");
      if ((error.retry_after ?? 0) > 1) return;
      await Bun.sleep(1_000);
    }
  });
  await Promise.all(clients);
  return { granted, unanswered, rejected };
}
