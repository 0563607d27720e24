/**
 * Goal: no account gets more than its quotas, in any way and through any number of processes; and
 * none can keep others from working. Method: known attacks, as a customer or a stranger would make
 * them.
 */
import { afterEach, describe, expect, test } from "bun:test";

import * as z from "zod";

import type { Plan } from "../../api/accounts/service.ts";
import { insertLease } from "../../api/analytics/live.ts";
import { parseId } from "../../cli/arguments.ts";
import { newUuid } from "../../shared/ids.ts";
import { createAccount, createKey, setPlan, suspendAccount, UNLIMITED } from "../harness/admin.ts";
import { ApiInProcess } from "../harness/api-in-process.ts";
import { type ApiResponse, call, codeOf, linkSchema } from "../harness/api.ts";
import { createUser, signIn, trySignIn } from "../harness/dashboard.ts";
import { eventually, SLOWDOWN_MAX } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { readMetric } from "../harness/prometheus.ts";
import { longTest } from "../harness/property-runs.ts";

/** How long the leases last of a process that was killed, and how soon their end is seen. */
const LEASE_SECONDS = 2;

const stack = await forFile(ApiInProcess.start({ clickhouse: true }));
const second = await stack.startApi();

const api = (path: string) => `${stack.info().api_url}${path}`;
const repeat = <T>(count: number, run: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => run(i)));

/** Counts responses by status. */
function countStatuses(responses: readonly { status: number }[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

const limitsSchema = z.object({
  limits: z.array(z.object({ name: z.string(), limit: z.int(), remaining: z.int() })),
  quotas: z.array(
    z.object({
      name: z.string(),
      kind: z.enum(["window", "total"]),
      limit: z.int(),
      remaining: z.int(),
      window: z.int().nullable(),
      reset: z.int().nullable(),
    }),
  ),
});

async function findQuota(key: string, name: string) {
  const { quotas } = limitsSchema.parse((await call(api("/v1/limits"), { key })).body);
  return quotas.find((quota) => quota.name === name);
}

const bulkSchema = z.object({
  created: z.int(),
  data: z.array(z.object({ error: z.object({ code: z.string() }).optional() })),
});

const manyLinks = (count: number, more: object = {}) =>
  Array.from({ length: count }, () => ({ url: "https://example.com/", ...more }));

async function createOwner(plan: Plan, limits?: unknown) {
  const account = await createAccount(stack, plan, limits);
  const user = await createUser(stack, account.id);
  const session = await signIn(stack, user);
  return { ...account, user, session, path: `/api/${account.id}/live/v1` };
}

const readKeyId = ({ body }: ApiResponse) => z.object({ id: z.string() }).parse(body).id;

async function createLink(key: string): Promise<string> {
  const body = { url: "https://example.com/watched" };
  return linkSchema.parse((await call(api("/v1/links"), { key, body })).body).id;
}

describe("a dashboard session", () => {
  test("on the free plan can add only ten domains, ten API keys and twenty invitations", async () => {
    const { session, path, id, key } = await createOwner("free");
    const domains = await repeat(40, (i) =>
      session.send(`${path}/domains`, { body: { domain: `d${i}.${id.slice(5, 15)}.example.com` } }),
    );
    expect(countStatuses(domains)).toEqual({ 201: 10, 403: 30 });
    const rejected = domains.find(({ status }) => status === 403);
    expect(rejected === undefined ? undefined : codeOf(rejected)).toEqual([403, "quota_exceeded"]);
    expect(JSON.stringify(rejected?.body)).toContain("domains");

    // The account already has one key.
    const createKeyInSession = () =>
      session.send(`${path}/keys`, { body: { name: "k", scopes: ["links:read"] } });
    const keys = await repeat(15, createKeyInSession);
    expect(countStatuses(keys)).toEqual({ 201: 9, 403: 6 });

    const invitations = await repeat(25, (i) =>
      session.send(`/api/${id}/invitations`, {
        body: { email: `i${i}@example.com`, role: "viewer" },
      }),
    );
    expect(countStatuses(invitations)).toEqual({ 201: 20, 429: 5 });

    // Deleting one domain allows exactly one more.
    const added = domains.find(({ status }) => status === 201);
    const domain = z.object({ id: z.string() }).parse(added?.body).id;
    await session.send(`${path}/domains/${domain}`, { method: "DELETE" });
    const more = await repeat(2, (i) =>
      session.send(`${path}/domains`, {
        body: { domain: `more${i}.${id.slice(5, 15)}.example.com` },
      }),
    );
    expect(countStatuses(more)).toEqual({ 201: 1, 403: 1 });
    expect(await findQuota(key, "domains")).toMatchObject({
      kind: "total",
      limit: 10,
      remaining: 0,
      window: null,
    });
  });
});

describe("a quota", () => {
  test("is exact for parallel requests to two processes and the dashboard", async () => {
    const limits = { ...UNLIMITED, quotas: { links_per_day: 150, domains: 7, api_keys: 6 } };
    const { key, session, path, id } = await createOwner("enterprise", limits);
    const bases = [stack.info().api_url, second.url];
    const links = manyLinks(20);
    const [singles, bulks] = await Promise.all([
      repeat(100, (i) =>
        i % 3 === 0
          ? session.send(`${path}/links`, { body: { url: "https://example.com/" } })
          : call(`${bases[i % 2]}/v1/links`, { key, body: { url: "https://example.com/" } }),
      ),
      repeat(6, (i) => call(`${bases[i % 2]}/v1/links/bulk`, { key, body: { links } })),
    ]);
    const createdSingles = singles.filter(({ status }) => status === 201).length;
    const successfulBulks = bulks
      .filter(({ status }) => status === 200)
      .map(({ body }) => bulkSchema.parse(body));
    expect(createdSingles + successfulBulks.reduce((sum, { created }) => sum + created, 0)).toBe(
      150,
    );
    expect(new Set([...singles, ...bulks].map(({ status }) => status))).toEqual(
      new Set(
        successfulBulks.length === 0
          ? [201, 429]
          : createdSingles === 0
            ? [200, 429]
            : [200, 201, 429],
      ),
    );
    for (const { data } of successfulBulks) {
      for (const { error } of data) expect(error?.code ?? "rate_limited").toBe("rate_limited");
    }
    const [row] = await stack.database.sql<[{ links: number }]>`
      select count(*)::int as links from links l join accounts a on a.id = l.account_id
       where a.limits -> 'quotas' ->> 'links_per_day' = '150'`;
    expect(row.links).toBe(150);

    const domains = await repeat(20, (i) =>
      call(`${bases[i % 2]}/v1/domains`, {
        key,
        body: { domain: `p${i}.${id.slice(5, 15)}.example.com` },
      }),
    );
    expect(countStatuses(domains)).toEqual({ 201: 7, 403: 13 });
    const keys = await repeat(12, (i) =>
      call(`${bases[i % 2]}/v1/keys`, { key, body: { name: `${i}`, scopes: ["links:read"] } }),
    );
    expect(countStatuses(keys)).toEqual({ 201: 5, 403: 7 });
  });

  test("is consumed only by successful creations, not by failures or replays", async () => {
    const { key } = await createAccount(stack, "enterprise", {
      ...UNLIMITED,
      quotas: { links_per_day: 4 },
    });
    const body = { url: "https://example.com/once", alias: `quota-${crypto.randomUUID()}` };
    const headers = { "idempotency-key": "quota" };
    const create = (link: unknown, requestHeaders = {}) =>
      call(api("/v1/links"), { key, body: link, headers: requestHeaders });
    expect((await create(body, headers)).status).toBe(201);
    for (let i = 0; i < 3; i++) expect((await create(body, headers)).status).toBe(201);
    expect(codeOf(await create(body))).toEqual([400, "alias_taken"]);
    expect(codeOf(await create({ url: "nonsense" }))).toEqual([400, "invalid_url"]);
    expect(await findQuota(key, "links_per_day")).toMatchObject({ limit: 4, remaining: 3 });

    const createBulk = async (links: unknown) => {
      const { body } = await call(api("/v1/links/bulk"), { key, body: { links } });
      const { created, data } = bulkSchema.parse(body);
      return [created, data.map(({ error }) => error?.code ?? "created").toSorted()];
    };
    expect(await createBulk(manyLinks(1, { alias: body.alias }))).toEqual([0, ["alias_taken"]]);
    expect(await createBulk(manyLinks(5))).toEqual([
      3,
      ["created", "created", "created", "rate_limited", "rate_limited"],
    ]);
    // A temporary rejection is not stored for its Idempotency-Key: the request can be retried.
    const later = { "idempotency-key": "later" };
    const refused = await create({ url: "https://example.com/" }, later);
    expect(codeOf(refused)).toEqual([429, "rate_limited"]);
    expect(refused.headers.get("x-ratelimit-policy")).toBe("4;w=86400");
    expect(Number(refused.headers.get("retry-after"))).toBeWithin(86_000, 86_401);
    await stack.database.sql`
      update quota_windows w set opened_at = opened_at - interval '86401 seconds'
        from accounts a where a.id = w.account_id and a.limits -> 'quotas' ->> 'links_per_day' = '4'`;
    expect((await create({ url: "https://example.com/" }, later)).status).toBe(201);
    expect((await create(body, headers)).headers.get("idempotent-replayed")).toBe("true");
    expect(await findQuota(key, "links_per_day")).toMatchObject({ remaining: 3 });
  });

  test("of links is never below the hourly limit, and operators can set quotas on any plan", async () => {
    const wide = await createAccount(stack, "enterprise", {
      endpoints: { "POST /v1/links": 1_000_000 },
    });
    expect(await findQuota(wide.key, "links_per_day")).toMatchObject({ limit: 24_000_000 });
    const free = await createAccount(stack, "free");
    await setPlan(stack, free.id, "free", { quotas: { domains: 25 } });
    expect(await findQuota(free.key, "domains")).toMatchObject({ limit: 25 });
  });

  test("of API keys is separate for live and test mode, and ignores revoked, expired and rotated keys", async () => {
    const { id, key } = await createAccount(stack, "enterprise", {
      ...UNLIMITED,
      quotas: { api_keys: 2 },
    });
    const create = (headers = {}) =>
      call(api("/v1/keys"), { key, body: { name: "k", scopes: ["links:read"] }, headers });
    const first = readKeyId(await create());
    // A refusal for want of room is not what a repeated request gets when there is room.
    const later = { "idempotency-key": "later" };
    expect(codeOf(await create(later))).toEqual([403, "quota_exceeded"]);
    const rotated = await call(api(`/v1/keys/${first}/rotate`), {
      key,
      body: { grace_seconds: 600 },
    });
    expect(rotated.status).toBe(200);
    expect((await create()).status).toBe(403);
    await call(api(`/v1/keys/${readKeyId(rotated)}`), { key, method: "DELETE" });
    const third = readKeyId(await create(later));
    await stack.database
      .sql`update api_keys set expires_at = now() - interval '1 second' where id = (
      select id from api_keys order by created_at desc limit 1)`;
    expect(third).toBeString();
    expect((await create()).status).toBe(201);
    const test = await createKey(stack, id, "keys:write,links:read", { type: "test" });
    const body = { name: "k", scopes: ["links:read"] };
    expect((await call(api("/v1/keys"), { key: test.key, body })).status).toBe(201);
  });
});

describe("live streams", () => {
  type Stream = { status: number; close: () => void };

  let opened: Stream[] = [];
  const closeAll = () => {
    for (const { close } of opened) close();
    opened = [];
  };
  afterEach(async () => {
    closeAll();
    const { api_metrics_url } = stack.info();
    await eventually(async () => {
      expect(await readMetric(api_metrics_url, "shorthop_api_live_streams")).toBe(0);
      expect(await readMetric(api_metrics_url, "shorthop_api_live_links")).toBe(0);
    });
  });

  async function open(url: string, headers: Record<string, string>): Promise<Stream> {
    const abort = new AbortController();
    const response = await fetch(url, { headers, signal: abort.signal });
    // Reads the stream, so that the server does not consider it stalled.
    void response.text().catch(() => undefined);
    const stream = { status: response.status, close: () => abort.abort() };
    opened.push(stream);
    return stream;
  }

  const openAll = (count: number, url: (i: number) => string, headers: Record<string, string>) =>
    repeat(count, (i) => open(url(i), headers));

  test("are limited to three on a free account, and their places become free when they are closed", async () => {
    const { session, path, key } = await createOwner("free");
    const id = await createLink(key);
    const url = `${stack.info().dashboard_url}${path}/analytics/${id}/stream`;
    const attack = () => openAll(60, () => url, { cookie: session.cookie });
    expect(countStatuses(await attack())).toEqual({ 200: 3, 403: 57 });
    expect(await readMetric(stack.info().api_metrics_url, "shorthop_api_live_streams")).toBe(3);
    closeAll();
    await eventually(async () =>
      expect(await findQuota(key, "live_streams")).toMatchObject({ remaining: 3 }),
    );
    expect(countStatuses(await attack())).toEqual({ 200: 3, 403: 57 });
  });

  longTest("are counted across processes, and those of a killed process end", async () => {
    const { id: account, key } = await createAccount(stack, "enterprise", {
      ...UNLIMITED,
      quotas: { live_streams: 8 },
    });
    const id = await createLink(key);
    const headers = { authorization: `Bearer ${key}` };
    const at = (base: string) => () => `${base}/v1/analytics/${id}/stream`;
    // What a process leaves behind that is killed: leases that nobody renews.
    const scope = { accountId: parseId("acct")(account), mode: "live" } as const;
    await repeat(3, () => insertLease(stack.database.sql, newUuid(), scope, LEASE_SECONDS));
    const [here, there] = await Promise.all([
      openAll(15, at(stack.info().api_url), headers),
      openAll(15, at(second.url), headers),
    ]);
    expect(countStatuses([...here, ...there])).toEqual({ 200: 5, 403: 25 });
    await eventually(async () =>
      expect(await findQuota(key, "live_streams")).toMatchObject({ remaining: 3 }),
    );
    // Streams of running processes keep their places.
    expect(countStatuses(await openAll(10, at(second.url), headers))).toEqual({ 200: 3, 403: 7 });
  });

  test("end when their account is suspended", async () => {
    const { id: account, key } = await createAccount(stack, "pro");
    const id = await createLink(key);
    const response = await fetch(api(`/v1/analytics/${id}/stream`), {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(response.status).toBe(200);
    await suspendAccount(stack, account);
    expect(await response.text()).toStartWith("retry:");
  });
});

describe("links with passwords", () => {
  longTest("are limited to ten per bulk request, and do not delay sign-ins", async () => {
    const { key } = await createAccount(stack, "enterprise", UNLIMITED);
    const user = await createUser(stack);
    const bulk = (links: unknown) => call(api("/v1/links/bulk"), { key, body: { links } });
    const attack = await repeat(5, () => bulk(manyLinks(100, { password: "secret" })));
    for (const response of attack) {
      expect(codeOf(response)).toEqual([400, "invalid_request"]);
      expect(JSON.stringify(response.body)).toContain("at most 10 links with a password");
    }
    let working = true;
    const allowed = repeat(5, () =>
      bulk([...manyLinks(10, { password: "secret" }), ...manyLinks(90)]),
    ).finally(() => {
      working = false;
    });
    const start = performance.now();
    expect((await trySignIn(stack, user)).status).toBe(200);
    // The fixed defect took more than seven seconds.
    expect(performance.now() - start).toBeLessThan(5_000 * SLOWDOWN_MAX);
    expect(working).toBe(true);
    for (const response of await allowed) expect(bulkSchema.parse(response.body).created).toBe(100);
  });
});

describe("an API key", () => {
  const keySchema = z.object({
    id: z.string(),
    key: z.string(),
    expires_at: z.string().nullable(),
  });
  const SCOPES = "keys:read,keys:write,links:read";

  test("that expires cannot create or rotate a key that expires later", async () => {
    const { id, key: permanent } = await createAccount(stack, "pro");
    const expires = "2099-01-01T00:00:00.000Z";
    const { key } = await createKey(stack, id, SCOPES, { expiresAt: new Date(expires) });
    const create = async (creator: string, more: object) => {
      const body = { name: "n", scopes: ["links:read"], ...more };
      return keySchema.parse((await call(api("/v1/keys"), { key: creator, body })).body);
    };
    expect((await create(key, {})).expires_at).toBe(expires);
    expect((await create(key, { expires_at: "2199-01-01T00:00:00Z" })).expires_at).toBe(expires);
    const early = "2098-01-01T00:00:00.000Z";
    expect((await create(key, { expires_at: early })).expires_at).toBe(early);
    const lasting = await create(permanent, {});
    expect(lasting.expires_at).toBeNull();
    const path = api(`/v1/keys/${lasting.id}/rotate`);
    const rotated = await call(path, { key, method: "POST" });
    expect(keySchema.parse(rotated.body).expires_at).toBe(expires);
    // Nor does one that was rotated itself, and works for its grace.
    const old = await createKey(stack, id, SCOPES);
    const body = { grace_seconds: 600 };
    await call(api(`/v1/keys/${old.id}/rotate`), { key: permanent, body });
    const [row] = await stack.database.sql<{ revoked_at: Date }[]>`
      select revoked_at from api_keys where id = ${parseId("key")(old.id)}`;
    expect((await create(old.key, {})).expires_at).toBe(row?.revoked_at.toISOString() ?? "");
  });

  test("has exactly one successor after eight concurrent rotations", async () => {
    const { id, key } = await createAccount(stack, "pro");
    const { id: old } = await createKey(stack, id, "links:read");
    const responses = await repeat(8, () =>
      call(api(`/v1/keys/${old}/rotate`), { key, method: "POST" }),
    );
    const rejected = responses.filter(({ status }) => status !== 200);
    expect(rejected).toHaveLength(7);
    // Requests that arrive after the rotation get the usual error.
    for (const response of rejected) {
      expect([
        [409, "conflict"],
        [400, "invalid_request"],
      ]).toContainEqual(codeOf(response));
    }
    const { body } = await call(api("/v1/keys"), { key });
    const keys = z.object({ data: z.array(z.object({ revoked_at: z.string().nullable() })) });
    const alive = keys.parse(body).data.filter(({ revoked_at }) => revoked_at === null);
    // The account's first key and the successor.
    expect(alive).toHaveLength(2);
  });
});
