/**
 * Goal: owners see how many requests failed, and why, and no one else does. Method: requests fail
 * in every way on a whole stack. That each counts once when workers fail, and that a flood of
 * made-up aliases takes little room, is beside the code of reports.
 */
import { beforeEach, describe, expect, test } from "bun:test";

import * as z from "zod";

import { usePostgres } from "../../api/postgres.ts";
import { createKey, runAdmin } from "../harness/admin.ts";
import { call, callOnce, errorSchema, linkSchema } from "../harness/api.ts";
import { Dns } from "../harness/dns.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { OwnLinks } from "../harness/own-links.ts";
import { startStack } from "../harness/stack.ts";

/** Reports are sent every 5 s. */
const TIMEOUT_MS = 30_000;

const failuresSchema = z.object({
  summary: z.record(z.string(), z.int()),
  failures_over_time: z.array(z.record(z.string(), z.union([z.string(), z.int()]))),
  top_links: z.array(z.record(z.string(), z.union([z.string(), z.int()]))),
  unknown_aliases: z.array(z.object({ domain: z.string(), alias: z.string(), requests: z.int() })),
});

const NONE = {
  total: 0,
  unknown_alias: 0,
  expired: 0,
  limit_reached: 0,
  wrong_password: 0,
  disabled: 0,
  not_started: 0,
};

let owner: OwnLinks;
let testKey: string;
let foreign: OwnLinks;

const api = (path: string) => `${stack.info().api_url}${path}`;

const dns = await forFile(Dns.start());
const stack = await forFile(startStack({ env: { DNS_SERVERS: dns.address } }));
// The figures of an account are of one test.
beforeEach(async () => {
  [owner, foreign] = await Promise.all([OwnLinks.start(stack), OwnLinks.start(stack)]);
  const scopes = "links:read,links:write,analytics:read";
  testKey = (await createKey(stack, owner.id, scopes, { type: "test" })).key;
});

async function read(query = "", key = owner.key) {
  const { status, body } = await call(api(`/v1/analytics/failures?period=24h&${query}`), { key });
  expect(status).toBe(200);
  return failuresSchema.parse(body);
}

/**
 * Adds a domain and verifies it; `earlier` as if an hour ago, since a quarter hour counts only as a
 * whole.
 */
async function addDomain(domain: string, { account = owner, earlier = true } = {}) {
  await account.addDomain(dns, domain);
  if (!earlier) return;
  await usePostgres(
    stack.info().database_url,
    (sql) =>
      sql`update domains set verified_at = verified_at - interval '1 hour' where host = ${domain} and verified_at is not null`,
  );
}

async function createLink(body: object, key = owner.key) {
  const response = await call(api("/v1/links"), {
    key,
    body: { url: "https://example.com/", ...body },
  });
  expect(response.status).toBe(201);
  return linkSchema.parse(response.body);
}

/** Follows a short link on a host. */
async function follow(alias: string, host: string, options: RequestInit = {}) {
  const response = await fetch(`${stack.info().short_url}/${alias}`, {
    redirect: "manual",
    ...options,
    headers: { host },
  });
  await response.arrayBuffer();
  return response.status;
}

const own = () => new URL(stack.info().short_url).host;

describe("requests that lead nowhere", () => {
  test("are counted by reason, link, domain and alias, for their owner only", async () => {
    await addDomain("go.example.com");
    await addDomain("two.example.com");
    const past = new Date(Date.now() + 1_500).toISOString();
    const links = {
      expired: await createLink({ expires_at: past, domain: "go.example.com" }),
      limit_reached: await createLink({ max_clicks: 1 }),
      wrong_password: await createLink({ password: "the right one" }),
      disabled: await createLink({}),
      not_started: await createLink({ starts_at: new Date(Date.now() + 3_600_000).toISOString() }),
    };
    const ofTest = await createLink({}, testKey);
    await owner.change(links.disabled.id, { disabled: true });
    expect(await follow(links.limit_reached.alias, own())).toBe(302);
    await eventually(
      async () =>
        expect(await follow(links.expired.alias, "go.example.com", { method: "HEAD" })).toBe(410),
      TIMEOUT_MS,
    );
    await eventually(
      async () => expect(await follow(links.disabled.alias, own(), { method: "HEAD" })).toBe(404),
      TIMEOUT_MS,
    );
    for (let i = 0; i < 2; i++) {
      expect(await follow(links.expired.alias, "go.example.com")).toBe(410);
      expect(await follow(links.disabled.alias, own())).toBe(404);
    }
    expect(await follow(links.not_started.alias, own())).toBe(404);
    for (let i = 0; i < 3; i++) expect(await follow(links.limit_reached.alias, own())).toBe(410);
    const body = new URLSearchParams({ password: "a wrong one" });
    expect(await follow(links.wrong_password.alias, own(), { method: "POST", body })).toBe(401);
    for (const alias of ["sale", "sale", "sale", "slae"])
      expect(await follow(alias, "go.example.com")).toBe(404);
    expect(await follow("sale", "two.example.com")).toBe(404);
    // Nobody's: the service's own domain, and a host that no account has verified.
    expect(await follow("sale", own())).toBe(404);
    expect(await follow("sale", "nobody.example.com")).toBe(404);
    expect(await follow(ofTest.alias, own())).toBe(302);

    const all = {
      total: 14,
      unknown_alias: 5,
      expired: 2,
      limit_reached: 3,
      wrong_password: 1,
      disabled: 2,
      not_started: 1,
    };
    const found = await eventually(async () => {
      const failures = await read();
      expect(failures.summary).toEqual(all);
      // Each is an insert of its own.
      expect(failures.unknown_aliases).toEqual([
        { domain: "go.example.com", alias: "sale", requests: 3 },
        { domain: "go.example.com", alias: "slae", requests: 1 },
        { domain: "two.example.com", alias: "sale", requests: 1 },
      ]);
      return failures;
    }, TIMEOUT_MS);
    expect(found.top_links.map(({ link_id, total }) => [link_id, total])).toEqual(
      expect.arrayContaining([
        [links.limit_reached.id, 3],
        [links.expired.id, 2],
        [links.disabled.id, 2],
        [links.wrong_password.id, 1],
        [links.not_started.id, 1],
      ]),
    );
    expect(found.failures_over_time.reduce((sum, { total }) => sum + Number(total), 0)).toBe(14);

    // By link and by domain.
    for (const [reason, { id }] of Object.entries(links)) {
      const ofLink = await read(`link_id=${id}`);
      const count = all[reason as keyof typeof all]; // A name of `links`.
      expect(ofLink.summary).toEqual({ ...NONE, total: count, [reason]: count });
      expect(ofLink.unknown_aliases).toEqual([]);
    }
    expect((await read("domain=GO.example.com")).summary).toEqual({
      ...NONE,
      total: 6,
      unknown_alias: 4,
      expired: 2,
    });
    expect((await read(`domain=${own()}`)).summary).toMatchObject({ total: 7, unknown_alias: 0 });
    expect((await read("limit=1")).unknown_aliases).toHaveLength(1);

    // In whole days of another zone, and as CSV.
    const days = await read("start_date=2020-01-01&end_date=2020-01-03&timezone=Asia/Kathmandu");
    expect(days.summary).toEqual(NONE);
    expect(days.failures_over_time.map(({ date }) => date)).toEqual([
      "2020-01-01",
      "2020-01-02",
      "2020-01-03",
    ]);
    const csv = await call(api("/v1/analytics/failures?period=7d&timezone=Asia/Kathmandu"), {
      key: owner.key,
      headers: { accept: "text/csv" },
    });
    expect(String(csv.body)).toMatch(/^date,total,unknown_alias,/);

    // Neither another account nor the other mode.
    for (const key of [foreign.key, testKey]) {
      expect(await read("", key)).toMatchObject({
        summary: NONE,
        top_links: [],
        unknown_aliases: [],
      });
      const unknown = await call(api("/v1/analytics/failures?domain=go.example.com"), { key });
      expect(unknown.status).toBe(400);
      expect(errorSchema.parse(unknown.body).error.param).toBe("domain");
      const stolen = await call(api(`/v1/analytics/failures?link_id=${links.expired.id}`), { key });
      expect(stolen.status).toBe(404);
      expect(errorSchema.parse(stolen.body).error.code).toBe("not_found");
    }
    const { status } = await callOnce(api("/v1/analytics/failures?country=DE"), { key: owner.key });
    expect(status).toBe(400);
  });

  test("of a domain that changes hands are shown to neither account afterwards", async () => {
    await addDomain("moved.example.com");
    expect(await follow("secret-name", "moved.example.com")).toBe(404);
    await eventually(async () => {
      const { unknown_aliases } = await read("domain=moved.example.com");
      expect(unknown_aliases).toEqual([
        { domain: "moved.example.com", alias: "secret-name", requests: 1 },
      ]);
    }, TIMEOUT_MS);
    const { code } = await runAdmin(stack, ["domains", "release", "moved.example.com"]);
    expect(code).toBe(0);
    await addDomain("moved.example.com", { account: foreign, earlier: false });
    for (const key of [owner.key, foreign.key])
      expect(await read("domain=moved.example.com", key)).toMatchObject({
        summary: NONE,
        unknown_aliases: [],
      });
  });
});
