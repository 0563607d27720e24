/**
 * Goal: the main job works end to end, over HTTP with real services: a link is created, redirects,
 * and its click is in the analytics.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import { admin, createAccount, createKey } from "../harness/admin.ts";
import { call, errorSchema, linkSchema, summarySchema } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { useStack } from "../harness/shared-stack.ts";
import type { SharedStack } from "../harness/stack.ts";

/** Latest appearance of a click in the analytics. */
const CLICK_VISIBLE_MS_MAX = 3_000;

const IPHONE =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 Mobile/15E148 Safari/604.1";

let stack: SharedStack;
let key: string;

beforeAll(async () => {
  stack = await useStack();
  key = stack.info().api_key;
});
afterAll(async () => await stack[Symbol.asyncDispose]());

const api = (path: string) => `${stack.info().api_url}${path}`;
const short = (path: string) => `${stack.info().short_url}${path}`;

async function createLink(body: Record<string, unknown>) {
  const { status, body: link } = await call(api("/v1/links"), { key, body });
  expect(status).toBe(201);
  return linkSchema.parse(link);
}

const getSummary = async (id: string, query = "") =>
  summarySchema.parse((await call(api(`/v1/analytics/${id}${query}`), { key })).body);

describe("a short link", () => {
  test("is created, redirects at once, and its click is in the analytics within three seconds", async () => {
    const created = await call(api("/v1/links"), {
      key,
      body: { url: " https://example.com/landing?a=1 ", title: "Landing", utm_source: "mail" },
    });
    expect(created.status).toBe(201);
    const link = linkSchema.parse(created.body);
    expect(created.headers.get("location")).toBe(`/v1/links/${link.id}`);
    expect(link).toMatchObject({
      original_url: "https://example.com/landing?a=1",
      short_url: short(`/${link.alias}`),
      title: "Landing",
      clicks: 0,
      expires_at: null,
    });
    expect(link.id).toMatch(/^link_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(link.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

    const redirect = await call(link.short_url, {
      headers: {
        "user-agent": IPHONE,
        "x-forwarded-for": "8.8.8.8",
        referer: "https://news.example.com/a",
      },
    });
    expect(redirect.status).toBe(302);
    expect(redirect.headers.get("location")).toBe(
      "https://example.com/landing?a=1&utm_source=mail",
    );
    expect(redirect.headers.get("cache-control")).toBe("private, no-store");
    expect(redirect.body).toBe("");

    await eventually(async () => {
      const { summary, clicks_over_time, period } = await getSummary(link.id);
      expect(summary).toEqual({
        total_clicks: 1,
        unique_clicks: 1,
        avg_daily_clicks: 0,
        bot_clicks: 0,
      });
      expect(period).toBe("30d");
      expect(clicks_over_time).toHaveLength(30);
      expect(clicks_over_time.at(-1)).toMatchObject({ clicks: 1, unique: 1 });
    }, CLICK_VISIBLE_MS_MAX);
    await eventually(async () => {
      const { status, body } = await call(api(`/v1/links/${link.id}`), { key });
      expect(status).toBe(200);
      expect(body).toMatchObject({
        ...link,
        clicks: 1,
        unique_clicks: 1,
        updated_at: link.created_at,
        has_password: false,
      });
    }, CLICK_VISIBLE_MS_MAX);
  });

  test("counts every redirect once, distinguishes visitors and counts bots separately", async () => {
    const link = await createLink({ url: "https://example.com/many" });
    const visit = (address: string, agent: string) =>
      call(link.short_url, { headers: { "x-forwarded-for": address, "user-agent": agent } });
    for (const address of ["81.2.69.142", "8.8.8.8", "8.8.4.4"]) {
      for (let i = 0; i < 20; i++) expect((await visit(address, IPHONE)).status).toBe(302);
    }
    for (let i = 0; i < 3; i++)
      await visit(
        "66.249.66.1",
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
      );
    await fetch(link.short_url, { method: "HEAD", redirect: "manual" });
    await eventually(async () => {
      const { summary, clicks_over_time } = await getSummary(link.id, "?period=24h");
      expect(summary).toMatchObject({ total_clicks: 60, unique_clicks: 3, bot_clicks: 3 });
      expect(clicks_over_time).toHaveLength(24);
      expect(clicks_over_time.reduce((sum, { clicks }) => sum + clicks, 0)).toBe(60);
    }, CLICK_VISIBLE_MS_MAX);
  });

  test("has the requested alias, which no other link can get", async () => {
    await createLink({ url: "https://example.com/first", alias: "Only_One-1" });
    const duplicate = await call(api("/v1/links"), {
      key,
      body: { url: "https://example.com/2", alias: "Only_One-1" },
    });
    expect(duplicate.status).toBe(400);
    expect(errorSchema.parse(duplicate.body).error.code).toBe("alias_taken");
    expect((await call(short("/Only_One-1"))).headers.get("location")).toBe(
      "https://example.com/first",
    );
    expect((await call(short("/only_one-1"))).status).toBe(404);
  });

  test("returns 410 after its expiry", async () => {
    const link = await createLink({
      url: "https://example.com/soon",
      expires_at: new Date(Date.now() + 1_000).toISOString(),
    });
    expect((await call(link.short_url)).status).toBe(302);
    await eventually(async () => expect((await call(link.short_url)).status).toBe(410), 3_000);
  });

  test("with a password asks for it, and accepts only that password", async () => {
    const link = await createLink({ url: "https://example.com/secret", password: "päss word" });
    const post = (password: string) =>
      call(link.short_url, {
        body: new URLSearchParams({ password }).toString(),
        headers: { "content-type": "application/x-www-form-urlencoded" },
      });
    expect((await call(link.short_url)).status).toBe(401);
    expect((await post("wrong")).status).toBe(401);
    const right = await post("päss word");
    expect([right.status, right.headers.get("location")]).toEqual([
      302,
      "https://example.com/secret",
    ]);
    const { body } = await call(api(`/v1/links/${link.id}`), { key });
    expect(body).toMatchObject({ has_password: true });
    expect(JSON.stringify(body)).not.toContain("argon2");
  });

  test("redirects at once after each of a hundred creations", async () => {
    const { key: account } = await createAccount(stack, "enterprise", {
      endpoints: { "POST /v1/links": 1_000 },
      minute: 1_000,
    });
    for (let i = 0; i < 100; i++) {
      const { body } = await call(api("/v1/links"), {
        key: account,
        body: { url: `https://example.com/${i}` },
      });
      const redirect = await call(linkSchema.parse(body).short_url);
      expect(redirect.headers.get("location")).toBe(`https://example.com/${i}`);
    }
  });
});

describe("the short domain", () => {
  test.each([
    ["GET", "/nothing-here", 404],
    ["GET", "/a/b", 404],
    ["GET", "/", 200],
    ["GET", "/robots.txt", 200],
    ["GET", "/favicon.ico", 204],
    ["GET", "/healthz", 200],
    ["DELETE", "/nothing-here", 405],
  ])("responds to %s %s with %i", async (method, path, status) => {
    const response = await call(short(path), { method });
    expect(response.status).toBe(status);
    if (status === 405) expect(response.headers.get("allow")).toBe("GET, HEAD");
  });

  test("serves no links on an unknown host", async () => {
    const link = await createLink({ url: "https://example.com/host" });
    expect((await call(link.short_url, { headers: { host: "elsewhere.example" } })).status).toBe(
      404,
    );
  });
});

describe("the API", () => {
  const url = "https://example.com/";

  test.each<[string, unknown, number, string]>([
    ["no URL", {}, 400, "invalid_request"],
    ["a number for URL", { url: 5 }, 400, "invalid_request"],
    ["an unknown field", { url, colour: "red" }, 400, "invalid_request"],
    ["an array", [], 400, "invalid_request"],
    ["broken JSON", "{", 400, "invalid_request"],
    ["not a URL", { url: "nonsense" }, 400, "invalid_url"],
    ["a script", { url: "javascript:alert(1)" }, 400, "invalid_url"],
    ["user and password", { url: "https://a:b@example.com/" }, 400, "invalid_url"],
    ["a reserved alias", { url, alias: "healthz" }, 400, "invalid_alias"],
    ["an alias with a slash", { url, alias: "a/b" }, 400, "invalid_alias"],
    ["a past expiry", { url, expires_at: "2020-01-01T00:00:00Z" }, 400, "invalid_request"],
    [
      "an expiry without a zone",
      { url, expires_at: "2099-01-01T00:00:00" },
      400,
      "invalid_request",
    ],
    ["a NUL in the title", { url, title: "a\u0000b" }, 400, "invalid_request"],
    ["too long a password", { url, password: "x".repeat(129) }, 400, "invalid_request"],
    ["too large a body", { url, title: "x".repeat(1_100_000) }, 413, "payload_too_large"],
  ])("rejects the creation of a link with %s", async (_name, body, status, code) => {
    const response = await call(api("/v1/links"), { key, body });
    expect(errorSchema.parse(response.body).error.code).toBe(code);
    expect(response.status).toBe(status);
    expectLimitHeaders(response.headers);
  });

  test("rejects a destination on its own short domain", async () => {
    const response = await call(api("/v1/links"), { key, body: { url: short("/x") } });
    expect(errorSchema.parse(response.body).error.code).toBe("invalid_url");
  });

  test.each<[string, string, string, string | undefined, number, string]>([
    ["no key", "GET", "/v1/limits", undefined, 401, "unauthorized"],
    ["a malformed key", "GET", "/v1/limits", "sk_live_nonsense", 401, "unauthorized"],
    ["no key and a bad body", "POST", "/v1/links", undefined, 401, "unauthorized"],
    ["an unknown path", "GET", "/v1/nothing", undefined, 404, "not_found"],
    ["an unknown path outside /v1", "GET", "/nothing", undefined, 404, "not_found"],
    ["a wrong method", "DELETE", "/v1/limits", undefined, 405, "method_not_allowed"],
  ])(
    "responds to a request with %s by a documented error with rate limit headers",
    async (_name, method, path, badKey, status, code) => {
      const response = await call(api(path), {
        method,
        key: badKey,
        ...(method === "POST" ? { body: "{" } : {}),
      });
      expect(errorSchema.parse(response.body).error.code).toBe(code);
      expect(response.status).toBe(status);
      expectLimitHeaders(response.headers);
      if (status === 401) expect(response.headers.get("www-authenticate")).toBe("Bearer");
      if (status === 405) expect(response.headers.get("allow")).toBe("GET");
    },
  );

  test("hides links of another account and of the other mode", async () => {
    const link = await createLink({ url });
    const { key: stranger } = await createAccount(stack, "free");
    const { key: testKey } = await createKey(
      stack,
      await sharedAccountId(),
      "links:read,analytics:read",
      { type: "test" },
    );
    expect(testKey).toStartWith("sk_test_");
    for (const other of [stranger, testKey]) {
      for (const path of [`/v1/links/${link.id}`, `/v1/analytics/${link.id}`]) {
        const response = await call(api(path), { key: other });
        expect([response.status, errorSchema.parse(response.body).error.code]).toEqual([
          404,
          "not_found",
        ]);
      }
    }
    expect((await call(api("/v1/links/link_nonsense"), { key })).status).toBe(404);
  });

  test.each([
    "?period=1h",
    "?timezone=Mars/Base",
    "?start_date=soon",
    "?start_date=2026-02-01&end_date=2026-01-01",
  ])("rejects the analytics query %s", async (query) => {
    const link = await createLink({ url });
    const response = await call(api(`/v1/analytics/${link.id}${query}`), { key });
    expect([response.status, errorSchema.parse(response.body).error.code]).toEqual([
      400,
      "invalid_request",
    ]);
  });
});

describe("API keys and rate limits", () => {
  test("a revoked key is rejected by the very next request", async () => {
    const { id, key: revoked } = await createKey(stack, await sharedAccountId(), "links:read");
    expect((await call(api("/v1/limits"), { key: revoked })).status).toBe(200);
    await admin(stack, ["keys", "revoke", id]);
    const response = await call(api("/v1/limits"), { key: revoked });
    expect([response.status, errorSchema.parse(response.body).error.code]).toEqual([
      403,
      "key_revoked",
    ]);
  });

  test("a key without the scope is rejected", async () => {
    const { key: reader } = await createKey(stack, await sharedAccountId(), "links:read");
    const response = await call(api("/v1/links"), {
      key: reader,
      body: { url: "https://example.com/" },
    });
    expect([response.status, errorSchema.parse(response.body).error.code]).toEqual([
      403,
      "forbidden",
    ]);
    expectLimitHeaders(response.headers);
  });

  test("a window accepts exactly its limit of concurrent requests", async () => {
    const { key: limited } = await createAccount(stack, "enterprise", { minute: 25, burst: 1_000 });
    const responses = await Promise.all(
      Array.from({ length: 80 }, () => call(api("/v1/links/link_none"), { key: limited })),
    );
    expect(responses.filter(({ status }) => status === 404)).toHaveLength(25);
    const rejected = responses.filter(({ status }) => status === 429);
    expect(rejected).toHaveLength(55);
    for (const { headers, body } of rejected) {
      const { error } = errorSchema.parse(body);
      expect(error.code).toBe("rate_limited");
      expect(String(error.retry_after)).toBe(headers.get("retry-after") ?? "");
      expect(headers.get("x-ratelimit-policy")).toBe("25;w=60");
      expect(headers.get("x-ratelimit-remaining")).toBe("0");
    }
  });

  test("the demo account is on the business plan with the specified limits", async () => {
    const { body } = await call(api("/v1/limits"), { key });
    const { plan, limits } = toLimits(body);
    expect(plan).toBe("business");
    expect(
      Object.fromEntries(limits.map(({ name, limit, window }) => [name, [limit, window]])),
    ).toEqual({
      burst: [100, 1],
      minute: [1_000, 60],
      day: [100_000, 86_400],
      "POST /v1/links": [100, 3_600],
      "POST /v1/analytics/bulk": [10, 60],
      "GET /v1/analytics/*": [120, 60],
      "POST /v1/domains": [10, 3_600],
    });
  });
});

function toLimits(body: unknown) {
  // The test checks the shape: a wrong one fails in the comparison.
  return body as { plan: string; limits: { name: string; limit: number; window: number }[] };
}

function expectLimitHeaders(headers: Headers): void {
  expect(headers.get("x-request-id")).toBeTruthy();
  const limit = Number(headers.get("x-ratelimit-limit"));
  expect(limit).toBeGreaterThan(0);
  expect(Number(headers.get("x-ratelimit-remaining"))).toBeLessThanOrEqual(limit);
  expect(Number(headers.get("x-ratelimit-reset"))).toBeGreaterThan(Date.now() / 1_000 - 2);
  expect(headers.get("x-ratelimit-policy")).toMatch(new RegExp(`^${limit};w=\\d+$`));
}

let sharedAccount: Promise<string> | undefined;

/** Returns an account to create keys in: no response contains the demo account's id. */
async function sharedAccountId(): Promise<string> {
  sharedAccount ??= createAccount(stack, "business").then(({ id }) => id);
  return await sharedAccount;
}
