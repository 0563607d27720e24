/** Goal: a domain serves the links of whoever proved it to be theirs, and of nobody else. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import * as z from "zod";

import { createAccount, createKey, type NewAccount } from "../harness/admin.ts";
import { type Answer, call, errorAnswer, linkAnswer } from "../harness/api.ts";
import { type Dns, startDns } from "../harness/dns.ts";
import { type Stack, startStack } from "../harness/stack.ts";

const PLENTY = { minute: 100_000, burst: 100_000, endpoints: { "POST /v1/domains": 100_000 } };

const domainRecord = z.strictObject({
  id: z.string().startsWith("dom_"),
  domain: z.string(),
  status: z.enum(["pending", "verified"]),
  verification: z.strictObject({ type: z.literal("TXT"), name: z.string(), value: z.string() }),
  created_at: z.string(),
  verified_at: z.string().nullable(),
});
const verified = domainRecord.extend({ problem: z.string().nullable() });

let dns: Dns;
let stack: Stack;
let account: NewAccount;

beforeAll(async () => {
  dns = await startDns();
  stack = await startStack({ env: { DNS_SERVERS: dns.address } });
  account = await createAccount(stack, "enterprise", PLENTY);
});
afterAll(async () => {
  await stack[Symbol.asyncDispose]();
  await dns[Symbol.asyncDispose]();
});

const api = (path: string) => `${stack.info().api_url}${path}`;
const codeOf = ({ status, body }: Answer) => [status, errorAnswer.parse(body).error.code];

const add = (domain: unknown, key = account.key) =>
  call(api("/v1/domains"), { key, body: { domain } });

const ask = (id: string, method: string, path = "", key = account.key) =>
  call(api(`/v1/domains/${id}${path}`), { key, method });

async function added(domain: string, key = account.key) {
  const answer = await add(domain, key);
  expect(answer.status).toBe(201);
  return domainRecord.parse(answer.body);
}

/** Adds a domain and proves it. */
async function proved(domain: string, key = account.key) {
  const record = await added(domain, key);
  dns.set(record.verification.name, [record.verification.value]);
  const answer = await ask(record.id, "POST", "/verify", key);
  expect(verified.parse(answer.body)).toMatchObject({ status: "verified", problem: null });
  return record;
}

const createLink = (body: Record<string, unknown>, key = account.key) =>
  call(api("/v1/links"), { key, body });

/** Follows a short link as the redirector sees it when the name leads there. */
const follow = async (host: string, alias: string) => {
  const { status, headers } = await call(`${stack.info().short_url}/${alias}`, {
    headers: { host },
  });
  return [status, headers.get("location")];
};

describe("a domain", () => {
  test("is pending until its TXT record is found", async () => {
    const answer = await add(" Go.Example.COM. ");
    const record = domainRecord.parse(answer.body);
    expect(answer.headers.get("location")).toBe(`/v1/domains/${record.id}`);
    expect(record).toMatchObject({
      domain: "go.example.com",
      status: "pending",
      verification: { name: "_shorthop.go.example.com" },
      verified_at: null,
    });
    const verify = async () => verified.parse((await ask(record.id, "POST", "/verify")).body);
    expect(await verify()).toMatchObject({ status: "pending", problem: expect.any(String) });
    dns.set(record.verification.name, ["v=spf1 -all", `${record.verification.value}x`]);
    expect(await verify()).toMatchObject({ status: "pending", problem: expect.any(String) });
    dns.set(record.verification.name, ["v=spf1 -all", record.verification.value]);
    const { problem, ...done } = await verify();
    expect([problem, done.status]).toEqual([null, "verified"]);
    expect((await ask(record.id, "GET")).body).toEqual(done);
    // Proved once is proved: the record may go.
    dns.set(record.verification.name, []);
    expect(await verify()).toEqual({ ...done, problem: null });
  });

  test("cannot be judged while DNS does not answer", async () => {
    const record = await added("silent.example.com");
    dns.set(record.verification.name, "fail");
    const answer = await ask(record.id, "POST", "/verify");
    expect(codeOf(answer)).toEqual([503, "unavailable"]);
    expect(answer.headers.get("retry-after")).toBeTruthy();
    expect((await ask(record.id, "GET")).body).toEqual(record);
  });

  test("belongs to whoever proves it first", async () => {
    const stranger = await createAccount(stack, "enterprise", PLENTY);
    const theirs = await added("contested.example.com", stranger.key);
    await proved("contested.example.com");
    dns.set(theirs.verification.name, [theirs.verification.value]);
    const late = await ask(theirs.id, "POST", "/verify", stranger.key);
    expect(codeOf(late)).toEqual([409, "domain_taken"]);
    const later = await createAccount(stack, "enterprise", PLENTY);
    expect(codeOf(await add("contested.example.com", later.key))).toEqual([409, "domain_taken"]);
    expect(
      codeOf(
        await createLink({ url: "https://e.com/", domain: "contested.example.com" }, stranger.key),
      ),
    ).toEqual([400, "invalid_request"]);
  });

  test("is added once by an account", async () => {
    await added("twice.example.com");
    expect(codeOf(await add("twice.example.com"))).toEqual([409, "domain_taken"]);
  });

  test.each([
    "",
    "com",
    "co.uk",
    "localhost",
    "10.0.0.1",
    "[::1]",
    "a b.example.com",
    "-a.example.com",
    "https://example.com",
    "example.com/path",
    "example.com:80",
    `${"a".repeat(64)}.example.com`,
    `${"a.".repeat(127)}example.com`,
    "*.example.com",
    "ex\u0000ample.com",
    5,
    null,
  ])("must be a name that can be had: not %p", async (domain) => {
    expect(codeOf(await add(domain))).toEqual([400, "invalid_request"]);
  });

  test("of many letters is known by its ASCII name", async () => {
    expect(await added("Bücher.example")).toMatchObject({ domain: "xn--bcher-kva.example" });
  });

  test("is listed for its own account and mode", async () => {
    const { key, id } = await createAccount(stack, "enterprise", PLENTY);
    const { key: testKey } = await createKey(stack, id, "domains:read,domains:write", {
      type: "test",
    });
    const first = await added("one.list.example", key);
    const second = await added("two.list.example", key);
    await added("three.list.example", testKey);
    const { body } = await call(api("/v1/domains?limit=1&page=2"), { key });
    expect(body).toEqual({
      data: [first],
      pagination: { page: 2, limit: 1, total: 2, total_pages: 2 },
    });
    expect((await call(api("/v1/domains"), { key })).body).toMatchObject({ data: [second, first] });
    expect((await call(api("/v1/domains"), { key: testKey })).body).toMatchObject({
      pagination: { total: 1 },
    });
  });
});

/** Creates a link under the same alias as all others, on a domain. */
const makeSame = async (domain: string | null, url: string) =>
  linkAnswer.loose().parse((await createLink({ url, alias: "same", domain })).body);

describe("links on a domain", () => {
  test("redirect by the name they are asked for at, apart from all others", async () => {
    await proved("links.example.com");
    await proved("other.example.com");
    const plain = await makeSame(null, "https://example.com/plain");
    const custom = await makeSame("LINKS.example.com", "https://example.com/custom");
    await makeSame("other.example.com", "https://example.com/other");
    expect(plain).toMatchObject({ domain: null });
    expect(custom).toMatchObject({ domain: "links.example.com" });
    expect(new URL(custom.short_url).hostname).toBe("links.example.com");
    expect(await follow("localhost", "same")).toEqual([302, "https://example.com/plain"]);
    expect(await follow("links.example.com", "same")).toEqual([302, "https://example.com/custom"]);
    expect(await follow("LINKS.example.com:8080", "same")).toEqual([
      302,
      "https://example.com/custom",
    ]);
    expect(await follow("other.example.com", "same")).toEqual([302, "https://example.com/other"]);
    expect((await follow("unknown.example.com", "same"))[0]).toBe(404);
  });

  test("need one that is verified", async () => {
    await added("unproved.example.com");
    for (const domain of ["unproved.example.com", "nowhere.example.com", "nonsense", ""]) {
      const answer = await createLink({ url: "https://example.com/", domain });
      expect(codeOf(answer)).toEqual([400, "invalid_request"]);
      expect(JSON.stringify(answer.body)).toContain("domain");
    }
  });

  test("keep it from being removed", async () => {
    const { id } = await proved("busy.example.com");
    const { body } = await createLink({ url: "https://example.com/", domain: "busy.example.com" });
    const link = linkAnswer.parse(body);
    expect(codeOf(await ask(id, "DELETE"))).toEqual([409, "domain_in_use"]);
    await call(api(`/v1/links/${link.id}`), { key: account.key, method: "DELETE" });
    const removed = await ask(id, "DELETE");
    expect([removed.status, removed.body]).toEqual([
      200,
      { success: true, message: expect.any(String) },
    ]);
    expect(codeOf(await ask(id, "GET"))).toEqual([404, "not_found"]);
    const again = await createLink({ url: "https://example.com/", domain: "busy.example.com" });
    expect(codeOf(again)).toEqual([400, "invalid_request"]);
    // Free for whoever proves it next.
    const next = await createAccount(stack, "enterprise", PLENTY);
    await proved("busy.example.com", next.key);
  });

  test("cannot be led to: they would go round in circles", async () => {
    await proved("circle.example.com");
    for (const url of ["https://circle.example.com/x", "http://CIRCLE.example.com.:81/"]) {
      expect(codeOf(await createLink({ url }))).toEqual([400, "invalid_url"]);
    }
    const { body } = await createLink({ url: "https://example.com/" });
    const changed = await call(api(`/v1/links/${linkAnswer.parse(body).id}`), {
      key: account.key,
      method: "PATCH",
      body: { url: "https://circle.example.com/" },
    });
    expect(codeOf(changed)).toEqual([400, "invalid_url"]);
  });
});
