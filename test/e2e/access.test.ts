/**
 * Goal: only authorized callers get access, exactly as often as their plan allows, regardless of
 * the number of API processes; and secrets stay secret.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import postgres from "postgres";
import * as z from "zod";

import { generateKey } from "../../api/auth/api-key.ts";
import {
  admin,
  createAccount,
  createKey,
  type NewAccount,
  type NewKey,
  runAdmin,
} from "../harness/admin.ts";
import { type ApiResponse, call, callOnce, errorSchema, linkSchema } from "../harness/api.ts";
import { type Dns, startDns } from "../harness/dns.ts";
import { eventually, SLOWDOWN_MAX } from "../harness/eventually.ts";
import { type ExtraProcess, startApi } from "../harness/processes.ts";
import { type Stack, startStack } from "../harness/stack.ts";

const ALL_SCOPES =
  "links:read,links:write,links:delete,analytics:read,domains:read,domains:write,keys:read,keys:write,shares:read,shares:write,events:read,webhooks:read,webhooks:write,reports:read,reports:write";

/** Latest response of a service whose database is unreachable. */
const UNAVAILABLE_WITHIN_MS = 2_000;

let stack: Stack;
let second: ExtraProcess;
let dns: Dns;
let account: NewAccount;
let refused: Awaited<ReturnType<typeof createRefused>>;
const secrets: string[] = [];

beforeAll(async () => {
  dns = await startDns();
  stack = await startStack({ env: { DNS_SERVERS: dns.address } });
  second = await startApi(stack);
  account = await createAccount(stack, "enterprise", {
    minute: 100_000,
    burst: 100_000,
    endpoints: {
      "POST /v1/links": 100_000,
      "GET /v1/analytics/*": 100_000,
      "POST /v1/analytics/bulk": 100_000,
      "POST /v1/domains": 100_000,
    },
  });
  secrets.push(account.key, stack.info().api_key);
  refused = await createRefused();
});
afterAll(async () => {
  await second.stop();
  await stack[Symbol.asyncDispose]();
  await dns[Symbol.asyncDispose]();
});

const api = (path: string) => `${stack.info().api_url}${path}`;
const codeOf = ({ status, body }: ApiResponse) => [status, errorSchema.parse(body).error.code];

async function keyWith(
  scopes: string,
  options: Parameters<typeof createKey>[3] = {},
): Promise<string> {
  const { key } = await createKey(stack, account.id, scopes, options);
  secrets.push(key);
  return key;
}

/** Endpoints for people without a key, which `shared-statistics.test.ts` covers. */
const PUBLIC_ENDPOINTS = ["GET /v1/shared/{token}", "POST /v1/shared/{token}/access"];

/**
 * Every endpoint with its required scope; `:link`, `:domain`, `:share` and `:key` stand for ids,
 * `:alias` and `:tag` for a link's, `:view` for a name; likewise `:webhook`, `:delivery` and `:report`.
 */
const ENDPOINTS: [string, string, string | null, unknown?][] = [
  ["POST", "/v1/links", "links:write", { url: "https://example.com/" }],
  ["POST", "/v1/links/bulk", "links:write", { links: [{ url: "https://example.com/" }] }],
  ["POST", "/v1/links/bulk/check", "links:write", { links: [{ url: "https://example.com/" }] }],
  ["PATCH", "/v1/links/bulk", "links:write", { links: [{ id: "link_none", title: "changed" }] }],
  ["POST", "/v1/links/bulk/delete", "links:delete", { ids: ["link_none"] }],
  ["PUT", "/v1/links/external/order-1", "links:write", { url: "https://example.com/" }],
  ["POST", "/v1/tags/merge", "links:write", { tags: ["old"], into: "new" }],
  ["GET", "/v1/tags", "links:read"],
  ["PATCH", "/v1/tags/:tag", "links:write", { color: "red" }],
  ["DELETE", "/v1/tags/:tag", "links:write"],
  ["GET", "/v1/links", "links:read"],
  ["GET", "/v1/links/lookup?alias=:alias", "links:read"],
  ["GET", "/v1/links/:link/qr", "links:read"],
  ["GET", "/v1/links/:link", "links:read"],
  ["PATCH", "/v1/links/:link", "links:write", { title: "changed" }],
  ["DELETE", "/v1/links/:link", "links:delete"],
  ["POST", "/v1/links/:link/explain", "links:read", {}],
  [
    "POST",
    "/v1/links/:link/backtest",
    "analytics:read",
    { rules: [{ url: "https://example.com/", conditions: [{ type: "os", in: ["iOS"] }] }] },
  ],
  ["GET", "/v1/analytics", "analytics:read"],
  ["GET", "/v1/analytics/geo", "analytics:read"],
  ["GET", "/v1/analytics/devices", "analytics:read"],
  ["GET", "/v1/analytics/referrers", "analytics:read"],
  ["GET", "/v1/analytics/:link", "analytics:read"],
  ["GET", "/v1/analytics/:link/stream", "analytics:read"],
  ["GET", "/v1/analytics/:link/geo", "analytics:read"],
  ["GET", "/v1/analytics/:link/devices", "analytics:read"],
  ["GET", "/v1/analytics/:link/referrers", "analytics:read"],
  ["GET", "/v1/analytics/breakdown?by=os", "analytics:read"],
  ["GET", "/v1/analytics/times", "analytics:read"],
  ["GET", "/v1/analytics/failures", "analytics:read"],
  ["GET", "/v1/analytics/failures?link_id=:link", "analytics:read"],
  ["GET", "/v1/analytics/:link/breakdown?by=os", "analytics:read"],
  ["GET", "/v1/analytics/:link/times", "analytics:read"],
  ["GET", "/v1/analytics/:link/targets", "analytics:read"],
  ["GET", "/v1/clicks", "analytics:read"],
  ["GET", "/v1/clicks?link_id=:link", "analytics:read"],
  ["GET", "/v1/clicks/export", "analytics:read"],
  ["POST", "/v1/analytics/bulk", "analytics:read", { link_ids: ["link_none"] }],
  ["GET", "/v1/domains", "domains:read"],
  ["POST", "/v1/domains", "domains:write", { domain: "go.example.com" }],
  ["GET", "/v1/domains/:domain", "domains:read"],
  ["PATCH", "/v1/domains/:domain", "domains:write", { case_sensitive: true }],
  ["POST", "/v1/domains/:domain/verify", "domains:write"],
  ["DELETE", "/v1/domains/:domain", "domains:write"],
  ["GET", "/v1/shares", "shares:read"],
  ["POST", "/v1/shares", "shares:write", {}],
  ["GET", "/v1/shares/:share", "shares:read"],
  ["PATCH", "/v1/shares/:share", "shares:write", { name: "changed" }],
  ["DELETE", "/v1/shares/:share", "shares:write"],
  ["GET", "/v1/branding", "shares:read"],
  ["PATCH", "/v1/branding", "shares:write", { name: "changed" }],
  ["GET", "/v1/views", "analytics:read"],
  ["PUT", "/v1/views/phones", "links:write", { query: "period=7d" }],
  ["DELETE", "/v1/views/:view", "links:write"],
  ["GET", "/v1/webhooks", "webhooks:read"],
  ["POST", "/v1/webhooks", "webhooks:write", { url: "https://example.com/", events: ["*"] }],
  ["GET", "/v1/webhooks/:webhook", "webhooks:read"],
  ["PATCH", "/v1/webhooks/:webhook", "webhooks:write", { description: "changed" }],
  ["POST", "/v1/webhooks/:webhook/rotate", "webhooks:write"],
  ["POST", "/v1/webhooks/:webhook/test", "webhooks:write"],
  ["GET", "/v1/webhooks/:webhook/deliveries", "webhooks:read"],
  ["POST", "/v1/webhooks/:webhook/deliveries/:delivery/retry", "webhooks:write"],
  ["POST", "/v1/webhooks/:webhook/replay", "webhooks:write", {}],
  ["DELETE", "/v1/webhooks/:webhook", "webhooks:write"],
  ["GET", "/v1/events", "events:read"],
  ["GET", "/v1/reports", "reports:read"],
  ["POST", "/v1/reports", "reports:write", { name: "Weekly", period: "weekly" }],
  ["GET", "/v1/reports/:report", "reports:read"],
  ["PATCH", "/v1/reports/:report", "reports:write", { name: "changed" }],
  ["POST", "/v1/reports/:report/send", "reports:write"],
  ["GET", "/v1/reports/:report/runs", "reports:read"],
  ["DELETE", "/v1/reports/:report", "reports:write"],
  ["GET", "/v1/keys", "keys:read"],
  ["POST", "/v1/keys", "keys:write", { name: "n", scopes: ["links:read"] }],
  ["GET", "/v1/keys/:key", "keys:read"],
  ["POST", "/v1/keys/:key/rotate", "keys:write", {}],
  ["DELETE", "/v1/keys/:key", "keys:write"],
  ["GET", "/v1/limits", null],
];

const NO_RESOURCES = {
  link: "link_none",
  alias: "none",
  tag: "none",
  domain: "dom_none",
  share: "shr_none",
  view: "none",
  key: "key_none",
  webhook: "wh_none",
  delivery: "dlv_none",
  event: "event_none",
  report: "rpt_none",
};

/** Webhooks and reports only where they are needed: an account has a number of them at most. */
async function createResources(owner: string, { withWebhook = true, withReport = true } = {}) {
  const tag = crypto.randomUUID();
  const { body } = await call(api("/v1/links"), {
    key: owner,
    body: { url: "https://example.com/target", tags: [tag] },
  });
  const created = await call(api("/v1/keys"), {
    key: owner,
    body: { name: "target", scopes: ["links:read"] },
  });
  const key = z.object({ id: z.string(), key: z.string() }).parse(created.body);
  secrets.push(key.key);
  const { body: added } = await call(api("/v1/domains"), {
    key: owner,
    body: { domain: `target-${key.id.replace("_", "-")}.example.com` },
  });
  const domain = z.object({ id: z.string() }).parse(added).id;
  const { body: shared } = await call(api("/v1/shares"), { key: owner, body: {} });
  const share = z.object({ id: z.string(), token: z.string() }).parse(shared);
  secrets.push(share.token);
  const { webhook, delivery, event } = withWebhook ? await createWebhook(owner) : NO_RESOURCES;
  const report = withReport ? await createReport(owner) : NO_RESOURCES.report;
  const link = linkSchema.parse(body);
  const view = `view-${tag}`;
  await call(api(`/v1/views/${view}`), { key: owner, method: "PUT", body: { query: "" } });
  return {
    link: link.id,
    alias: link.alias,
    webhook,
    delivery,
    event,
    tag,
    domain,
    share: share.id,
    view,
    key: key.id,
    report,
  };
}

async function createReport(owner: string): Promise<string> {
  const report = { name: "Monthly", period: "monthly" };
  const { body } = await call(api("/v1/reports"), { key: owner, body: report });
  return z.object({ id: z.string() }).parse(body).id;
}

/** Creates a webhook with a delivery. */
async function createWebhook(owner: string) {
  const hook = { url: "https://hooks.example.com/", events: ["link.created"] };
  const { body } = await call(api("/v1/webhooks"), { key: owner, body: hook });
  const { id: webhook, secret } = z.object({ id: z.string(), secret: z.string() }).parse(body);
  secrets.push(secret);
  const tested = await call(api(`/v1/webhooks/${webhook}/test`), { key: owner, method: "POST" });
  const { id: delivery, event_id: event } = z
    .object({ id: z.string(), event_id: z.string() })
    .parse(tested.body);
  return { webhook, delivery, event };
}

/** Creates keys that every endpoint refuses, and resources that none shows to strangers. */
async function createRefused() {
  const { id, key: revoked } = await createKey(stack, account.id, ALL_SCOPES);
  await admin(stack, ["keys", "revoke", id]);
  const { key: stranger } = await createAccount(stack, "pro");
  secrets.push(revoked, stranger);
  const without = new Map<string, string>();
  const scopes = ALL_SCOPES.split(",");
  for (const scope of scopes) {
    const others = scopes.filter((other) => other !== scope);
    without.set(scope, await keyWith(others.join(",")));
  }
  return {
    revoked,
    expired: await keyWith(ALL_SCOPES, { expiresAt: new Date("2020-01-01T00:00:00Z") }),
    /** Keys with every scope but one. */
    without,
    stranger,
    test: await keyWith(ALL_SCOPES, { type: "test" }),
    resources: await createResources(account.key),
  };
}

function expectLimitHeaders({ headers }: ApiResponse): void {
  for (const name of ["limit", "remaining", "reset"]) {
    expect(headers.get(`x-ratelimit-${name}`)).toMatch(/^\d+$/);
  }
  expect(headers.get("x-ratelimit-policy")).toMatch(/^\d+;w=\d+$/);
  expect(headers.get("x-request-id")).toBeTruthy();
}

test("these tests cover every documented endpoint", async () => {
  const { body } = await call(api("/v1/openapi.json"));
  const { paths } = z
    .object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) })
    .parse(body);
  const documented = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const covered = new Set(
    ENDPOINTS.map(([method, path]) => {
      const [route = ""] = path.split("?");
      return `${method} ${route.replace(":delivery", "{delivery}").replace(/:\w+/, "{id}").replace("order-1", "{external_id}").replace("phones", "{id}")}`;
    }),
  );
  expect([...covered, ...PUBLIC_ENDPOINTS].toSorted()).toEqual(
    documented.map((operation) => operation.replace(/\{(?:link_id|name)\}/, "{id}")).toSorted(),
  );
});

describe.each(ENDPOINTS)("%s %s", (method, path, scope, body) => {
  // Unauthenticated requests are limited by address, so each endpoint uses its own.
  const headers = {
    "x-forwarded-for": `198.51.100.${ENDPOINTS.findIndex(([m, p]) => m === method && p === path)}`,
  };
  const send = (key: string | undefined, resources = NO_RESOURCES) => {
    const target = path
      .replace(":link", resources.link)
      .replace(":alias", resources.alias)
      .replace(":tag", resources.tag)
      .replace(":domain", resources.domain)
      .replace(":share", resources.share)
      .replace(":view", resources.view)
      .replace(":webhook", resources.webhook)
      .replace(":delivery", resources.delivery)
      .replace(":report", resources.report)
      .replace(":key", resources.key);
    const sent = path.endsWith("/replay") ? { after: resources.event } : body;
    return call(api(target), { method, key, body: sent, headers });
  };

  test("rejects missing, malformed and unknown keys", async () => {
    const unknown = generateKey("live").key;
    for (const key of [undefined, "nonsense", account.key.slice(0, -1), unknown]) {
      const response = await send(key);
      expect(codeOf(response)).toEqual([401, "unauthorized"]);
      expect(response.headers.get("www-authenticate")).toBe("Bearer");
      expectLimitHeaders(response);
    }
  });

  test("rejects a revoked or expired key", async () => {
    const rejected = await send(refused.revoked);
    expect(codeOf(rejected)).toEqual([403, "key_revoked"]);
    expectLimitHeaders(rejected);
    expect(codeOf(await send(refused.expired))).toEqual([401, "unauthorized"]);
  });

  test("rejects a key without its scope", async () => {
    if (scope === null) return expect((await send(await keyWith("links:read"))).status).toBe(200);
    const response = await send(refused.without.get(scope));
    expect(codeOf(response)).toEqual([403, "forbidden"]);
    expect(JSON.stringify(response.body)).toContain(scope);
    expectLimitHeaders(response);
  });

  test("hides the resources of other accounts and of the other mode", async () => {
    if (!path.includes(":")) return;
    for (const key of [refused.stranger, refused.test]) {
      expect(codeOf(await send(key, refused.resources))).toEqual([404, "not_found"]);
    }
    expect(codeOf(await send(account.key))).toEqual([404, "not_found"]);
  });

  test("accepts its owner's key", async () => {
    const response = await send(
      account.key,
      await createResources(account.key, {
        withWebhook: path.includes(":webhook"),
        withReport: path.includes(":report"),
      }),
    );
    expect([200, 201]).toContain(response.status);
    const created = z.object({ key: z.string() }).safeParse(response.body).data;
    if (created !== undefined) secrets.push(created.key);
    const shared = z.object({ token: z.string() }).safeParse(response.body).data;
    if (shared !== undefined) secrets.push(shared.token);
    expectLimitHeaders(response);
  });
});

const keyRecord = z.strictObject({
  id: z.string().startsWith("key_"),
  name: z.string(),
  type: z.enum(["live", "test"]),
  prefix: z.string().length(12),
  scopes: z.array(z.string()),
  created_at: z.string(),
  last_used_at: z.string().nullable(),
  expires_at: z.string().nullable(),
  revoked_at: z.string().nullable(),
});
const newKeyRecord = keyRecord.extend({ key: z.string() });

describe("API keys", () => {
  test("are created, shown without their secret, used and revoked", async () => {
    const { key, ...record } = await createKeyByApi({
      name: "CI",
      scopes: ["links:read", "links:read"],
      expires_at: "2099-01-01T00:00:00Z",
    });
    expect(record).toMatchObject({
      name: "CI",
      type: "live",
      scopes: ["links:read"],
      last_used_at: null,
      revoked_at: null,
    });
    expect(key).toStartWith(record.prefix);
    const path = api(`/v1/keys/${record.id}`);
    expect((await call(path, { key: account.key })).body).toEqual(record);
    await call(api("/v1/limits"), { key });
    expect(
      keyRecord.parse((await call(path, { key: account.key })).body).last_used_at,
    ).toBeString();
    const revoked = await call(path, { key: account.key, method: "DELETE" });
    expect(revoked.body).toEqual({ success: true, message: expect.any(String) });
    expect(codeOf(await call(api("/v1/limits"), { key }))).toEqual([403, "key_revoked"]);
    expect((await call(path, { key: account.key, method: "DELETE" })).status).toBe(200);
  });

  test("can only grant scopes that their creator has, in the creator's mode", async () => {
    const narrow = await keyWith("keys:write,links:read");
    const create = (body: Record<string, unknown>) => call(api("/v1/keys"), { key: narrow, body });
    expect((await create({ name: "n", scopes: ["links:read"] })).status).toBe(201);
    expect(codeOf(await create({ name: "n", scopes: ["links:write"] }))).toEqual([
      403,
      "forbidden",
    ]);
    expect(codeOf(await create({ name: "n", type: "test", scopes: ["links:read"] }))).toEqual([
      403,
      "forbidden",
    ]);
    const wide = await createKeyByApi({ name: "wide", scopes: ["links:write"] });
    const rotated = await call(api(`/v1/keys/${wide.id}/rotate`), { key: narrow, method: "POST" });
    expect(codeOf(rotated)).toEqual([403, "forbidden"]);
    // Nor can it end a key that may do more; its own it can.
    const path = api(`/v1/keys/${wide.id}`);
    const revoke = (key: string, url = path) => call(url, { key, method: "DELETE" });
    expect(codeOf(await revoke(narrow))).toEqual([403, "forbidden"]);
    expect((await call(path, { key: account.key })).body).toMatchObject({ revoked_at: null });
    const own = await createKeyByApi({ name: "own", scopes: ["keys:write"] });
    expect((await revoke(narrow, api(`/v1/keys/${own.id}`))).status).toBe(200);
    expect((await revoke(account.key)).status).toBe(200);
  });

  test("can only share statistics that they may read, and a refusal changes nothing", async () => {
    const { link, share } = await createResources(account.key);
    const path = `/v1/shares/${share}`;
    const send = async (scopes: string, method: string, target: string, body: object) =>
      call(api(target), { key: await keyWith(scopes), method, body });
    const { body: before } = await call(api(path), { key: account.key });
    const count = async () => (await call(api("/v1/shares"), { key: account.key })).body;
    const shares = await count();
    for (const [scopes, method, target, body] of [
      ["shares:write", "POST", "/v1/shares", {}],
      ["shares:write,links:read", "POST", "/v1/shares", {}],
      ["shares:write", "POST", "/v1/shares", { link_id: link }],
      ["shares:write,analytics:read", "POST", "/v1/shares", { link_id: link }],
      ["shares:write,analytics:read", "POST", "/v1/shares", { link_id: "link_none" }],
      ["shares:write,links:read", "PATCH", path, { breakdowns: ["city"] }],
    ] as const) {
      const response = await send(scopes, method, target, body);
      expect([scopes, target, response.status]).toEqual([scopes, target, 403]);
      expect(codeOf(response)).toEqual([403, "forbidden"]);
    }
    expect(await count()).toEqual(shares);
    expect((await call(api(path), { key: account.key })).body).toEqual(before);

    const ofAll = await send("shares:write,analytics:read", "POST", "/v1/shares", {});
    const reader = "shares:write,analytics:read,links:read";
    const ofLink = await send(reader, "POST", "/v1/shares", { link_id: link });
    for (const { status, body } of [ofAll, ofLink]) {
      expect(status).toBe(201);
      secrets.push(z.object({ token: z.string() }).parse(body).token);
    }
    const changed = await send("shares:write,analytics:read", "PATCH", path, { name: "Other" });
    expect(changed.status).toBe(200);
    const { id } = z.object({ id: z.string() }).parse(ofLink.body);
    const byOthers = await send("shares:write,analytics:read", "PATCH", `/v1/shares/${id}`, {});
    expect(codeOf(byOthers)).toEqual([403, "forbidden"]);
    const revoked = await call(api(`/v1/shares/${id}`), {
      key: await keyWith("shares:write"),
      method: "DELETE",
    });
    expect(revoked.status).toBe(200);
  });

  test("can be rotated: the old key works until its grace period ends, the new one at once", async () => {
    const old = await createKeyByApi({ name: "rotating", scopes: ["links:read"] });
    const response = await call(api(`/v1/keys/${old.id}/rotate`), {
      key: account.key,
      body: { grace_seconds: 1 },
    });
    const created = newKeyRecord.parse(response.body);
    secrets.push(created.key);
    expect(created).toMatchObject({ name: "rotating", scopes: ["links:read"] });
    expect(created.id).not.toBe(old.id);
    expect((await call(api("/v1/limits"), { key: created.key })).status).toBe(200);
    expect((await call(api("/v1/limits"), { key: old.key })).status).toBe(200);
    await eventually(
      async () => expect((await call(api("/v1/limits"), { key: old.key })).status).toBe(403),
      3_000,
    );
    const repeated = await call(api(`/v1/keys/${old.id}/rotate`), {
      key: account.key,
      method: "POST",
    });
    expect(codeOf(repeated)).toEqual([400, "invalid_request"]);
  });

  test("are listed in pages, newest first", async () => {
    const owner = await createAccount(stack, "business");
    secrets.push(owner.key);
    const names = ["a", "b", "c"];
    for (const name of names) {
      const { body } = await call(api("/v1/keys"), {
        key: owner.key,
        body: { name, scopes: ["links:read"] },
      });
      secrets.push(newKeyRecord.parse(body).key);
    }
    const page = async (n: number) => {
      const { body } = await call(api(`/v1/keys?limit=3&page=${n}`), { key: owner.key });
      return z
        .object({ data: z.array(keyRecord), pagination: z.record(z.string(), z.int()) })
        .parse(body);
    };
    const first = await page(1);
    expect(first.pagination).toEqual({ page: 1, limit: 3, total: 4, total_pages: 2 });
    expect(first.data.map(({ name }) => name)).toEqual(["c", "b", "a"]);
    expect((await page(2)).data.map(({ name }) => name)).toEqual(["First key"]);
    expect((await page(3)).data).toEqual([]);
  });

  test.each([
    {},
    { name: "", scopes: ["links:read"] },
    { name: "n", scopes: [] },
    { name: "n", scopes: ["everything"] },
    { name: "n", scopes: ["links:read"], type: "prod" },
    { name: "n", scopes: ["links:read"], expires_at: "2020-01-01T00:00:00Z" },
    { name: "n", scopes: ["links:read"], colour: "red" },
  ])("are not created from the invalid body %o", async (body) => {
    expect(codeOf(await call(api("/v1/keys"), { key: account.key, body }))).toEqual([
      400,
      "invalid_request",
    ]);
  });
});

describe("the revocation of a key", () => {
  test("takes effect at once on every process, under fifty connections", async () => {
    const { id, key } = await createKey(stack, account.id, "links:read");
    secrets.push(key);
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
  const more: ExtraProcess[] = [];
  beforeAll(async () => {
    more.push(...(await Promise.all([startApi(stack), startApi(stack)])));
  });
  afterAll(async () => {
    await Promise.all(more.map((process) => process.stop()));
  });

  test.each([
    ["free", 2],
    ["pro", 4],
    ["business", 4],
  ] as const)("of the plan %s are exact over %i processes", async (plan, processes) => {
    const perMinute = { free: 60, pro: 300, business: 1_000 }[plan];
    const { key } = await createAccount(stack, plan);
    secrets.push(key);
    const urls = [stack.info().api_url, second.url, ...more.map(({ url }) => url)];
    const { granted, rejected } = await useUp(urls.slice(0, processes), key, "/v1/links/link_none");
    expect(granted).toBe(perMinute);
    expect(
      rejected.some(({ headers }) => headers.get("x-ratelimit-policy") === `${perMinute};w=60`),
    ).toBe(true);
  });

  test.each([
    ["GET /v1/analytics/*", "GET", "/v1/analytics/link_none", 120, 60],
    ["POST /v1/links", "POST", "/v1/links", 100, 3_600],
    ["POST /v1/analytics/bulk", "POST", "/v1/analytics/bulk", 10, 60],
  ] as const)(
    "of the endpoint %s are exact over two processes",
    async (_name, method, path, limit, seconds) => {
      const { key } = await createAccount(stack, "enterprise", { minute: 10_000, burst: 10_000 });
      secrets.push(key);
      const bodies: Record<string, unknown> = {
        "/v1/links": { url: "https://example.com/limited" },
        "/v1/analytics/bulk": { link_ids: ["link_none"] },
      };
      const body = bodies[path];
      const responses = await Promise.all(
        Array.from({ length: 200 }, (_, i) =>
          call(`${i % 2 === 0 ? stack.info().api_url : second.url}${path}`, { method, key, body }),
        ),
      );
      const rejected = responses.filter(({ status }) => status === 429);
      expect(rejected).toHaveLength(200 - limit);
      for (const { headers } of rejected)
        expect(headers.get("x-ratelimit-policy")).toBe(`${limit};w=${seconds}`);
      // Other endpoints are not affected.
      expect((await call(api("/v1/links/link_none"), { key })).status).toBe(404);
    },
  );

  test("accept a client again once it has waited as long as Retry-After says", async () => {
    const { key } = await createAccount(stack, "enterprise", { burst: 3, minute: 1_000 });
    secrets.push(key);
    const hit = () => call(api("/v1/links/link_none"), { key });
    let response = await hit();
    while (response.status !== 429) response = await hit();
    // What a client does: it waits exactly as long, and the next request is accepted.
    await Bun.sleep(1_000 * Number(response.headers.get("retry-after")));
    expect((await hit()).status).toBe(404);
  });

  test("can be read without consuming them", async () => {
    const { key } = await createAccount(stack, "free");
    secrets.push(key);
    const limitsNow = async () =>
      z
        .object({
          limits: z.array(z.object({ name: z.string(), limit: z.int(), remaining: z.int() })),
        })
        .parse((await call(api("/v1/limits"), { key })).body).limits;
    for (let i = 0; i < 20; i++) await limitsNow();
    expect((await limitsNow()).every(({ limit, remaining }) => limit === remaining)).toBe(true);
    await call(api("/v1/links/link_none"), { key });
    const minute = (await limitsNow()).find(({ name }) => name === "minute");
    expect(minute).toEqual({ name: "minute", limit: 60, remaining: 59 });
  });

  test("apply by address to requests without a key", async () => {
    const responses = await Promise.all(
      Array.from({ length: 70 }, () => limitsFrom("203.0.113.77")),
    );
    expect(responses.filter(({ status }) => status === 401)).toHaveLength(60);
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(10);
    expect((await limitsFrom("203.0.113.78")).status).toBe(401);
  });

  test("lead to a suspension when they are exceeded repeatedly, which an operator can lift", async () => {
    const { id, key } = await createAccount(stack, "enterprise", { minute: 2, burst: 1_000 });
    secrets.push(key);
    const hit = () => call(api("/v1/links/link_none"), { key });
    const suspended = await eventually(async () => {
      const responses = await Promise.all(Array.from({ length: 10 }, hit));
      const found = responses.find(({ body }) => JSON.stringify(body).includes("suspended"));
      if (found === undefined) throw new Error("Not suspended yet.");
      return found;
    }, 20_000);
    expect(codeOf(suspended)).toEqual([429, "rate_limited"]);
    expect(Number(suspended.headers.get("retry-after"))).toBeGreaterThan(590);
    await admin(stack, ["accounts", "suspend", id, "--minutes", "0"]);
    await admin(stack, ["accounts", "set-plan", id, "--plan", "business"]);
    await eventually(async () => expect((await hit()).status).toBe(404), 5_000);
    await admin(stack, ["accounts", "suspend", id]);
    await eventually(async () => expect(codeOf(await hit())).toEqual([403, "forbidden"]), 5_000);
  });
});

describe("the operator's command line", () => {
  test("lists accounts and keys without secrets, and rotates a key", async () => {
    const accounts = await admin<{ id: string; plan: string }[]>(stack, ["accounts", "list"]);
    expect(accounts).toContainEqual(
      expect.objectContaining({ id: account.id, plan: "enterprise" }),
    );
    const { id, key } = await createKey(stack, account.id, "links:read");
    const rotated = await admin<{ id: string; key: string }>(stack, ["keys", "rotate", id]);
    secrets.push(key, rotated.key);
    expect(Object.keys(rotated)).toEqual(["id", "key"]);
    expect((await call(api("/v1/limits"), { key })).status).toBe(403);
    expect((await call(api("/v1/limits"), { key: rotated.key })).status).toBe(200);
    const { stdout } = await runAdmin(stack, ["keys", "list", "--account", account.id]);
    expect(stdout).toContain(rotated.id);
    expect(stdout).not.toContain(rotated.key);
  });

  test("creates accounts with limits, and keys of a type with scopes that expire", async () => {
    const limits = { minute: 77, burst: 78 };
    const create = ["accounts", "create", "--name", "Limited", "--plan", "enterprise", "--key"];
    create.push("--limits", JSON.stringify(limits));
    const created = await admin<NewAccount>(stack, create);
    const { body } = await call(api("/v1/limits"), { key: created.key });
    expect(JSON.stringify(body)).toContain(`"limit":77`);
    const expires = "2099-01-01T00:00:00.000Z";
    const createTestKey = ["keys", "create", "--account", created.id, "--name", "k"];
    createTestKey.push("--type", "test", "--scopes", "links:read, keys:read", "--expires", expires);
    const key = await admin<NewKey>(stack, createTestKey);
    secrets.push(created.key, key.key);
    expect(key.key).toStartWith("sk_test_");
    expect((await call(api(`/v1/keys/${key.id}`), { key: key.key })).body).toMatchObject({
      scopes: ["links:read", "keys:read"],
      expires_at: expires,
    });
  });

  test.each([
    [["accounts", "create", "--name", "x", "--plan", "gold"], 2, "gold"],
    [["accounts", "create", "--plan", "free"], 2, "--name"],
    [
      ["accounts", "create", "--name", "x", "--plan", "free", "--limits", '{"minute":5}'],
      1,
      "enterprise",
    ],
    [
      ["accounts", "create", "--name", "x", "--plan", "enterprise", "--limits", '{"minute":0}'],
      2,
      "minute: Too small",
    ],
    [
      ["accounts", "create", "--name", "x", "--plan", "enterprise", "--limits", '{"minutes":5}'],
      2,
      'Unrecognized key: "minutes". It must be JSON such as {"minute":600,',
    ],
    [["keys", "revoke", "key_nonsense"], 2, "key_"],
    [["keys", "revoke", "key_01m7xx1r0feg6ayt089t7p6rr5"], 1, "does not exist"],
    [["nonsense"], 2, "nonsense"],
    [["--help"], 0, ""],
  ] as const)("%p exits with %i", async (args, code, problem) => {
    const result = await runAdmin(stack, args);
    expect(result.code).toBe(code);
    expect(result.stderr).toContain(problem);
    if (code !== 0) expect(result.stdout).toBe("");
  });
});

describe("while PostgreSQL is unavailable", () => {
  test("the API responds with 503 in time, and recovers by itself", async () => {
    const { api_url, api_key, pids } = stack.info();
    const postmaster = Number(pids.postgres);
    const family = [postmaster, ...childrenOf(postmaster)];
    for (const pid of family) process.kill(pid, "SIGSTOP");
    const started = performance.now();
    const response = await callOnce(`${api_url}/v1/links/link_none`, { key: api_key });
    const took = performance.now() - started;
    for (const pid of family) process.kill(pid, "SIGCONT");
    expect(codeOf(response)).toEqual([503, "unavailable"]);
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    expectLimitHeaders(response);
    expect(took).toBeLessThan(UNAVAILABLE_WITHIN_MS * SLOWDOWN_MAX);
    await eventually(async () => {
      expect((await call(`${api_url}/v1/links/link_none`, { key: api_key })).status).toBe(404);
    }, 10_000);
  });

  test("an API process that never reached it responds with 503 too", async () => {
    const unreachable = await startApi(stack, { DATABASE_URL: "postgres://u:p@127.0.0.1:9/x" });
    const started = performance.now();
    const response = await callOnce(`${unreachable.url}/v1/limits`, { key: account.key });
    expect(performance.now() - started).toBeLessThan(UNAVAILABLE_WITHIN_MS * SLOWDOWN_MAX);
    expect(codeOf(response)).toEqual([503, "unavailable"]);
    expect((await call(`${unreachable.url}/v1/limits`, { key: "nonsense" })).status).toBe(401);
    await unreachable.stop();
  });
});

test("no API key and no password appears in the database or the logs", async () => {
  const password = "correct-horse-battery-staple";
  await call(api("/v1/links"), {
    key: account.key,
    body: { url: "https://example.com/secret", password },
  });
  const created = newKeyRecord.parse(
    (await call(api("/v1/keys"), { key: account.key, body: { name: "n", scopes: ["links:read"] } }))
      .body,
  );
  const rotated = newKeyRecord.parse(
    (await call(api(`/v1/keys/${created.id}/rotate`), { key: account.key, method: "POST" })).body,
  );
  secrets.push(created.key, rotated.key, await keyWith("links:read"));
  // Also used in rejected requests, whose log lines must not contain them either.
  for (const key of secrets) await call(api("/v1/links"), { key, body: { url: "nonsense" } });
  const sql = postgres(stack.info().database_url, { max: 1 });
  const tables = await sql<{ name: string }[]>`
    select table_name as name from information_schema.tables where table_schema = 'public'`;
  expect(tables.length).toBeGreaterThan(8);
  let dump = "";
  for (const { name } of tables) {
    const rows = await sql<{ row: string }[]>`select t::text as row from ${sql(name)} t`;
    dump += rows.map(({ row }) => row).join("\n");
  }
  await sql.end();
  const logs = join(stack.dataDir, "logs");
  for (const file of readdirSync(logs)) dump += readFileSync(join(logs, file), "utf8");
  dump += second.output();
  expect(dump).toContain("example.com/secret");
  expect(dump).not.toContain(password);
  // The secret part, whole or in large part; the public prefix may appear.
  for (const key of secrets) expect(dump).not.toContain(key.slice(20, 40));
});

/** Child processes of a process (Linux). */
function childrenOf(parent: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, "latin1").replace(/^.*\) /s, "");
        return Number(stat.split(" ")[1]) === parent;
      } catch {
        return false;
      }
    });
}

/** Creates a key through the API. */
async function createKeyByApi(body: Record<string, unknown>) {
  const response = await call(api("/v1/keys"), { key: account.key, body });
  expect(response.status).toBe(201);
  const created = newKeyRecord.parse(response.body);
  expect(response.headers.get("location")).toBe(`/v1/keys/${created.id}`);
  secrets.push(created.key);
  return created;
}

/**
 * Sends requests from fifty clients to all processes, respecting Retry-After, until a minute's
 * limit is used up.
 */
async function useUp(urls: readonly string[], key: string, path: string) {
  const granted: ApiResponse[] = [];
  const rejected: ApiResponse[] = [];
  const clients = Array.from({ length: 50 }, async (_, i) => {
    for (;;) {
      const response = await call(`${urls[i % urls.length]}${path}`, { key });
      expectLimitHeaders(response);
      if (response.status !== 429) {
        granted.push(response);
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
  return { granted: granted.length, rejected };
}

/** Sends a request without a key from an address. */
const limitsFrom = (address: string): Promise<ApiResponse> =>
  call(api("/v1/limits"), { headers: { "x-forwarded-for": address } });
