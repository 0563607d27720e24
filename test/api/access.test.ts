/**
 * Goal: only authorized callers get access to what is theirs, on every endpoint; and secrets stay
 * secret.
 */
import { describe, expect, spyOn, test } from "bun:test";

import * as z from "zod";

import { generateKey } from "../../api/auth/api-key.ts";
import { Budgets } from "../../api/limits/budgets.ts";
import { CALLS } from "../../shared/waiting-work.ts";
import { createAccount, createKey, revokeKey, UNLIMITED } from "../harness/admin.ts";
import { ApiInProcess } from "../harness/api-in-process.ts";
import { ApiResources, NO_RESOURCES } from "../harness/api-resources.ts";
import { call, codeOf } from "../harness/api.ts";
import { Dns } from "../harness/dns.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { expectLimitHeaders } from "../harness/limit-headers.ts";
import { createPng } from "../harness/png.ts";

const ALL_SCOPES =
  "links:read,links:write,links:delete,analytics:read,domains:read,domains:write,keys:read,keys:write,shares:read,shares:write,events:read,webhooks:read,webhooks:write,reports:read,reports:write";

const secrets: string[] = [];

const dns = await forFile(Dns.start());
const stack = await forFile(
  ApiInProcess.start({ env: { DNS_SERVERS: dns.address }, clickhouse: true }),
);
const second = await stack.startApi();
const account = await createAccount(stack, "enterprise", UNLIMITED);
secrets.push(account.key, stack.info().api_key);

const api = (path: string) => `${stack.info().api_url}${path}`;
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
 * Every endpoint with its required scope, and a body that takes from all budgets that it can; `:link`, `:domain`, `:share` and `:key` stand for ids,
 * `:alias`, `:tag` and `:external` for a link's, `:view` for a name; likewise `:webhook`, `:delivery` and `:report`.
 */
const ENDPOINTS: [string, string, string | null, unknown?][] = [
  ["POST", "/v1/links", "links:write", { url: "https://example.com/", password: "long enough" }],
  [
    "POST",
    "/v1/links/bulk",
    "links:write",
    { links: [{ url: "https://example.com/", password: "long enough" }] },
  ],
  [
    "POST",
    "/v1/links/bulk/check",
    "links:write",
    { links: [{ url: "https://example.com/", alias: "checked" }] },
  ],
  ["PATCH", "/v1/links/bulk", "links:write", { links: [{ id: ":link", password: "long enough" }] }],
  ["POST", "/v1/links/bulk/delete", "links:delete", { ids: [":link"] }],
  [
    "PUT",
    "/v1/links/external/order-1",
    "links:write",
    { url: "https://example.com/", password: "long enough" },
  ],
  ["GET", "/v1/links/external/:external", "links:read"],
  ["PATCH", "/v1/links/external/:external", "links:write", { password: "long enough" }],
  ["DELETE", "/v1/links/external/:external", "links:delete"],
  ["POST", "/v1/tags/merge", "links:write", { tags: [":tag"], into: "new" }],
  ["GET", "/v1/tags", "links:read"],
  ["PATCH", "/v1/tags/:tag", "links:write", { name: "renamed", merge: true }],
  ["DELETE", "/v1/tags/:tag", "links:write"],
  ["GET", "/v1/links?page=1", "links:read"],
  ["GET", "/v1/links/lookup?alias=:alias", "links:read"],
  ["GET", "/v1/links/:link/qr?shape=rounded", "links:read"],
  ["GET", "/v1/links/:link", "links:read"],
  ["PATCH", "/v1/links/:link", "links:write", { password: "long enough" }],
  ["DELETE", "/v1/links/:link", "links:delete"],
  ["POST", "/v1/links/:link/explain", "links:read", {}],
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
  ["POST", "/v1/analytics/bulk", "analytics:read", { link_ids: [":link"] }],
  ["GET", "/v1/domains", "domains:read"],
  ["POST", "/v1/domains", "domains:write", { domain: "go.example.com" }],
  ["GET", "/v1/domains/:domain", "domains:read"],
  ["PATCH", "/v1/domains/:proven", "domains:write", { case_sensitive: false }],
  ["POST", "/v1/domains/:domain/verify", "domains:write"],
  ["DELETE", "/v1/domains/:domain", "domains:write"],
  ["GET", "/v1/shares", "shares:read"],
  ["POST", "/v1/shares", "shares:write", { password: "long enough" }],
  ["GET", "/v1/shares/:share", "shares:read"],
  ["PATCH", "/v1/shares/:share", "shares:write", { password: "long enough" }],
  ["POST", "/v1/shares/:share/rotate", "shares:write"],
  ["DELETE", "/v1/shares/:share", "shares:write"],
  ["GET", "/v1/branding", "shares:read"],
  ["PATCH", "/v1/branding", "shares:write", { logo: createPng(240, 56).toString("base64") }],
  ["GET", "/v1/views", "analytics:read"],
  ["PUT", "/v1/views/phones", "links:write", { query: "period=7d" }],
  ["DELETE", "/v1/views/:view", "links:write"],
  ["GET", "/v1/link-filters", "links:read"],
  ["PUT", "/v1/link-filters/spring", "links:write", { query: "tag=spring" }],
  ["DELETE", "/v1/link-filters/:view", "links:write"],
  ["GET", "/v1/utm-templates", "links:read"],
  ["PUT", "/v1/utm-templates/mails", "links:write", { query: "utm_medium=email" }],
  ["DELETE", "/v1/utm-templates/:view", "links:write"],
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

const resources = new ApiResources(stack, dns, (secret) => secrets.push(secret));

const refused = await createRefused();

/** Creates keys that every endpoint refuses, and resources that none shows to strangers. */
async function createRefused() {
  const { key: stranger } = await createAccount(stack, "pro");
  secrets.push(stranger);
  const byScope = new Map<string | null, Awaited<ReturnType<typeof createRefusedKeys>>>();
  for (const scope of [null, ...ALL_SCOPES.split(",")])
    byScope.set(scope, await createRefusedKeys(scope));
  return {
    byScope,
    stranger,
    test: await keyWith(ALL_SCOPES, { type: "test" }),
    resources: await resources.create(account.key, ENDPOINTS.join()),
  };
}

/** Keys for the endpoints of a scope, in an account of their own: refused requests are limited. */
async function createRefusedKeys(scope: string | null) {
  const { id: owner } = await createAccount(stack, "enterprise");
  const create = async (scopes: string, options: Parameters<typeof createKey>[3] = {}) => {
    const created = await createKey(stack, owner, scopes, options);
    secrets.push(created.key);
    return created;
  };
  const others = ALL_SCOPES.split(",").filter((other) => other !== scope);
  const revoked = await create(ALL_SCOPES);
  await revokeKey(stack, revoked.id);
  const expired = await create(ALL_SCOPES, { expiresAt: new Date("2020-01-01T00:00:00Z") });
  const without = await create(others.join(","));
  return { revoked: revoked.key, expired: expired.key, without: without.key };
}

/** An endpoint as the document has it, with `{id}` for each other parameter. */
function operationOf(method: string, path: string): string {
  const [route = ""] = path.split("?");
  return `${method} ${route
    .replace(":delivery", "{delivery}")
    .replace(":external", "{external_id}")
    .replace(/:\w+/, "{id}")
    .replace("order-1", "{external_id}")
    .replace(/phones|spring|mails/, "{id}")}`;
}

test("these tests cover every documented endpoint", async () => {
  const { body } = await call(api("/v1/openapi.json"));
  const { paths } = z
    .object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) })
    .parse(body);
  const documented = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const covered = new Set(ENDPOINTS.map(([method, path]) => operationOf(method, path)));
  expect([...covered, ...PUBLIC_ENDPOINTS].toSorted()).toEqual(
    documented.map((operation) => operation.replace(/\{(?:link_id|name)\}/, "{id}")).toSorted(),
  );
  // With what each takes, which the tests below compare.
  expect(Object.keys(CALLS).toSorted()).toEqual([...covered].toSorted());
});

describe.each(ENDPOINTS)("%s %s", (method, path, scope, body) => {
  // Unauthenticated requests are limited by address, so each endpoint uses its own.
  const headers = {
    "x-forwarded-for": `198.51.100.${ENDPOINTS.findIndex(([m, p]) => m === method && p === path)}`,
  };
  const send = (key: string | undefined, used = NO_RESOURCES) => {
    const fill = (text: string): string =>
      Object.entries(used).reduce((all, [name, id]) => all.replace(`:${name}`, id), text);
    const filled: unknown = body === undefined ? undefined : JSON.parse(fill(JSON.stringify(body)));
    const sent = path.endsWith("/replay") ? { starting_after: used.event } : filled;
    return call(api(fill(path)), { method, key, body: sent, headers });
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
    const rejected = await send(refused.byScope.get(scope)?.revoked);
    expect(codeOf(rejected)).toEqual([403, "key_revoked"]);
    expectLimitHeaders(rejected);
    expect(codeOf(await send(refused.byScope.get(scope)?.expired))).toEqual([401, "unauthorized"]);
  });

  test("rejects a key without its scope", async () => {
    if (scope === null) return expect((await send(await keyWith("links:read"))).status).toBe(200);
    const response = await send(refused.byScope.get(scope)?.without);
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

  test("accepts its owner's key, and takes from the budgets that are named", async () => {
    const made = await resources.create(account.key, path + JSON.stringify(body));
    using spend = spyOn(Budgets.prototype, "spend");
    const response = await send(account.key, made);
    expect([200, 201]).toContain(response.status);
    const taken = new Set(spend.mock.calls.map(([, name]) => name));
    const named = CALLS[operationOf(method, path)] ?? [];
    expect([...taken].toSorted()).toEqual(named.toSorted());
    const created = z.object({ key: z.string() }).safeParse(response.body).data;
    if (created !== undefined) secrets.push(created.key);
    const shared = z.object({ token: z.string() }).safeParse(response.body).data;
    if (shared !== undefined) secrets.push(shared.token);
    expectLimitHeaders(response);
  });
});

/** The id of a response to a request with this one. */
const idOf = async (sent: string) =>
  (await call(api("/healthz"), { headers: { "x-request-id": sent } })).headers.get("x-request-id");

/** A request without a key, from an address. */
const sendFrom = (address: string) =>
  call(api("/v1/links"), { headers: { "x-forwarded-for": address } });

describe("a request", () => {
  test("has its key in the Authorization header and nowhere else, and no response repeats it", async () => {
    const key = account.key;
    const elsewhere = await call(api(`/v1/links?api_key=${key}`), {
      headers: { "x-api-key": key, cookie: `key=${key}` },
    });
    expect(codeOf(elsewhere)).toEqual([401, "unauthorized"]);
    const { status } = await call(api("/v1/links"), {
      headers: { authorization: `bearer ${key}` },
    });
    expect(status).toBe(200);
    const refused = await call(api("/v1/keys"), { key: await keyWith("links:read") });
    const text = JSON.stringify([refused.body, ...refused.headers]);
    for (const secret of secrets) expect(text).not.toContain(secret);
  });

  test("for an unknown path gets 404, and with a wrong method 405 with the methods it takes", async () => {
    expect(codeOf(await call(api("/v1/nothing")))).toEqual([404, "not_found"]);
    const put = (path: string) => call(api(path), { method: "PUT", key: account.key });
    const wrong = await put("/v1/links");
    expect(codeOf(wrong)).toEqual([405, "method_not_allowed"]);
    expect(wrong.headers.get("allow")).toBe("GET, POST");
    for (const path of ["bulk", "lookup"]
      .map((name) => `/v1/links/${name}`)
      .concat("/v1/tags/merge"))
      expect([path, (await put(path)).status]).toEqual([path, 405]);
    // Not an id: the path exists as it is, and the message names what does what was meant.
    const fixed = await call(api("/v1/links/bulk"), { method: "DELETE", key: account.key });
    expect([fixed.status, fixed.headers.get("allow")]).toEqual([405, "PATCH, POST"]);
    const message =
      "This resource takes PATCH, POST; below it are POST /v1/links/bulk/check, POST /v1/links/bulk/delete.";
    expect(fixed.body).toMatchObject({ error: { message } });
  });

  test("has an id: the client's own if it is safe", async () => {
    expect(await idOf("abc-1.2")).toBe("abc-1.2");
    expect(await idOf("<script>")).toMatch(/^[0-9a-f-]{36}$/);
    expect(await idOf("x".repeat(129))).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("without a key is rate-limited by its address, and no other address is", async () => {
    const statuses = new Set<number>();
    for (let i = 0; i < 100; i++) statuses.add((await sendFrom("203.0.113.7")).status);
    expect([...statuses]).toEqual([401, 429]);
    expect((await sendFrom("203.0.113.8")).status).toBe(401);
  });
});

const keyRecord = z.strictObject({
  id: z.string().startsWith("key_"),
  name: z.string(),
  type: z.enum(["live", "test"]),
  prefix: z.string().length(12),
  scopes: z.array(z.string()),
  allowed_networks: z.array(z.string()),
  created_at: z.string(),
  created_by: z.object({ type: z.string(), id: z.string().optional() }),
  last_used_at: z.string().nullable(),
  last_used_network: z.string().nullable(),
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
    const { link, share } = await resources.create(account.key, ":link :share");
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
    const stolen = { key: refused.stranger, body: { link_id: link } };
    expect(codeOf(await call(api("/v1/shares"), stolen))).toEqual([404, "not_found"]);
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
    await eventually(async () =>
      expect((await call(api("/v1/limits"), { key: old.key })).status).toBe(403),
    );
    const repeated = await call(api(`/v1/keys/${old.id}/rotate`), {
      key: account.key,
      method: "POST",
    });
    expect(codeOf(repeated)).toEqual([400, "invalid_request"]);
  });

  test.each([-1, 1e12, "60", 0.5])("have no grace of %p seconds", async (grace_seconds) => {
    const { id } = await createKeyByApi({ name: "kept", scopes: ["links:read"] });
    const body = { grace_seconds };
    const response = await call(api(`/v1/keys/${id}/rotate`), { key: account.key, body });
    expect(codeOf(response)).toEqual([400, "invalid_request"]);
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
    { name: "n", scopes: ["members:write"] },
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

test("no API key and no password appears in the database or the logs", async () => {
  const password = "correct-horse-battery-staple";
  const link = { url: "https://example.com/secret", password };
  for (const [path, body] of [
    ["/v1/links", link],
    ["/v1/shares", { password }],
  ] as const)
    await call(api(path), { key: account.key, body });
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
  const dump = [await stack.database.dump(), stack.output(), second.output()].join("\n");
  expect(dump).toContain("example.com/secret");
  expect(dump).not.toContain(password);
  // The secret part, whole or in large part; the public prefix may appear.
  for (const key of secrets) expect(dump).not.toContain(key.slice(20, 40));
});

/** Creates a key through the API. */
async function createKeyByApi(body: Record<string, unknown>) {
  const response = await call(api("/v1/keys"), { key: account.key, body });
  expect(response.status).toBe(201);
  const created = newKeyRecord.parse(response.body);
  expect(response.headers.get("location")).toBe(`/v1/keys/${created.id}`);
  secrets.push(created.key);
  return created;
}
