/** Goal: a domain serves only the links of the account that has proved its ownership. */
import { describe, expect, test } from "bun:test";

import * as z from "zod";

import { createAccount, createKey, UNLIMITED } from "../harness/admin.ts";
import { call, callOnce, codeOf, linkSchema } from "../harness/api.ts";
import { Dns } from "../harness/dns.ts";
import { forFile } from "../harness/for-file.ts";
import { useStack } from "../harness/stack.ts";

const domainRecord = z.strictObject({
  id: z.string().startsWith("dom_"),
  domain: z.string(),
  status: z.enum(["pending", "verified"]),
  verification: z.strictObject({ type: z.literal("TXT"), name: z.string(), value: z.string() }),
  routing: z.strictObject({ type: z.string(), name: z.string(), value: z.string() }),
  created_at: z.string(),
  verified_at: z.string().nullable(),
});
const verified = domainRecord.extend({
  problem: z.string().nullable(),
  checked_at: z.string().nullable(),
});

const dns = await forFile(Dns.start());
const stack = await forFile(useStack({ dns }));
const account = await createAccount(stack, "enterprise", UNLIMITED);

const api = (path: string) => `${stack.info().api_url}${path}`;
const postDomain = (domain: unknown, key = account.key) =>
  call(api("/v1/domains"), { key, body: { domain } });

const send = (id: string, method: string, path = "", key = account.key) =>
  callOnce(api(`/v1/domains/${id}${path}`), { key, method });

async function addDomain(domain: string, key = account.key) {
  const response = await postDomain(domain, key);
  expect(response.status).toBe(201);
  return domainRecord.parse(response.body);
}

/** Adds a domain and verifies it. */
async function addVerified(domain: string, key = account.key) {
  const record = await addDomain(domain, key);
  dns.set(record.verification.name, [record.verification.value]);
  const response = await send(record.id, "POST", "/verify", key);
  expect(verified.parse(response.body)).toMatchObject({ status: "verified", problem: null });
  return record;
}

const createLink = (body: Record<string, unknown>, key = account.key) =>
  call(api("/v1/links"), { key, body });

/** Follows a short link on a host whose DNS points to the redirector. */
const follow = async (host: string, alias: string) => {
  const { status, headers } = await call(`${stack.info().short_url}/${alias}`, {
    headers: { host },
  });
  return [status, headers.get("location")];
};

describe("a domain", () => {
  test("is pending until its TXT record is found", async () => {
    const response = await postDomain(" Go.Example.COM. ");
    const record = domainRecord.parse(response.body);
    expect(response.headers.get("location")).toBe(`/v1/domains/${record.id}`);
    expect(record).toMatchObject({
      domain: "go.example.com",
      status: "pending",
      verification: { name: "_shorthop.go.example.com" },
      routing: { type: "CNAME", name: "go.example.com", value: expect.any(String) },
      verified_at: null,
    });
    const verify = async () => verified.parse((await send(record.id, "POST", "/verify")).body);
    expect(await verify()).toMatchObject({ status: "pending", problem: expect.any(String) });
    dns.set(record.verification.name, ["v=spf1 -all", `${record.verification.value}x`]);
    expect(await verify()).toMatchObject({ status: "pending", problem: expect.any(String) });
    dns.set(record.verification.name, ["v=spf1 -all", record.verification.value]);
    const { problem, checked_at, ...done } = await verify();
    expect([problem, checked_at, done.status]).toEqual([null, expect.any(String), "verified"]);
    expect((await send(record.id, "GET")).body).toEqual(done);
    // A verified domain stays verified without the record.
    dns.set(record.verification.name, []);
    expect(await verify()).toEqual({ ...done, problem: null, checked_at: null });
  });

  test("stays pending while DNS does not respond, and verifying it gets 503", async () => {
    const record = await addDomain("silent.example.com");
    dns.set(record.verification.name, "fail");
    const response = await send(record.id, "POST", "/verify");
    expect(codeOf(response)).toEqual([503, "unavailable"]);
    expect(response.headers.get("retry-after")).toBeTruthy();
    expect((await send(record.id, "GET")).body).toEqual(record);
  });

  test("belongs to the account that verifies it first", async () => {
    const stranger = await createAccount(stack, "enterprise", UNLIMITED);
    const theirs = await addDomain("contested.example.com", stranger.key);
    await addVerified("contested.example.com");
    dns.set(theirs.verification.name, [theirs.verification.value]);
    const late = await send(theirs.id, "POST", "/verify", stranger.key);
    expect(codeOf(late)).toEqual([409, "domain_taken"]);
    const later = await createAccount(stack, "enterprise", UNLIMITED);
    expect(codeOf(await postDomain("contested.example.com", later.key))).toEqual([
      409,
      "domain_taken",
    ]);
    expect(
      codeOf(
        await createLink({ url: "https://e.com/", domain: "contested.example.com" }, stranger.key),
      ),
    ).toEqual([400, "invalid_request"]);
  });

  test("can be added only once by an account", async () => {
    await addDomain("twice.example.com");
    expect(codeOf(await postDomain("twice.example.com"))).toEqual([409, "domain_taken"]);
  });

  test("must be a registrable host name", async () => {
    expect(codeOf(await postDomain("co.uk"))).toEqual([400, "invalid_request"]);
  });

  test("is listed only for its account and mode", async () => {
    const { key, id } = await createAccount(stack, "enterprise", UNLIMITED);
    const { key: testKey } = await createKey(stack, id, "domains:read,domains:write", {
      type: "test",
    });
    const first = await addDomain("one.list.example", key);
    const second = await addDomain("two.list.example", key);
    await addDomain("three.list.example", testKey);
    const { body } = await call(api("/v1/domains?limit=1&page=2"), { key });
    expect(body).toEqual({
      data: [first],
      pagination: { page: 2, limit: 1, total: 2, total_pages: 2 },
      next_cursor: null,
    });
    expect((await call(api("/v1/domains"), { key })).body).toMatchObject({ data: [second, first] });
    expect((await call(api("/v1/domains"), { key: testKey })).body).toMatchObject({
      pagination: { total: 1 },
    });
  });
});

/** Creates a link on a domain, with the same alias as on the others. */
const createSameAlias = async (domain: string | null, url: string) =>
  linkSchema.loose().parse((await createLink({ url, alias: "same", domain })).body);

describe("links on a domain", () => {
  test("redirect only on their host, independently of the same alias on others", async () => {
    await addVerified("links.example.com");
    await addVerified("other.example.com");
    const plain = await createSameAlias(null, "https://example.com/plain");
    const custom = await createSameAlias("LINKS.example.com", "https://example.com/custom");
    await createSameAlias("other.example.com", "https://example.com/other");
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

  test("require a verified domain", async () => {
    await addDomain("unverified.example.com");
    for (const domain of ["unverified.example.com", "nowhere.example.com", "nonsense", ""]) {
      const response = await createLink({ url: "https://example.com/", domain });
      expect(codeOf(response)).toEqual([400, "invalid_request"]);
      expect(JSON.stringify(response.body)).toContain("domain");
    }
  });

  test("prevent the removal of their domain", async () => {
    const { id } = await addVerified("busy.example.com");
    const { body } = await createLink({ url: "https://example.com/", domain: "busy.example.com" });
    const link = linkSchema.parse(body);
    expect(codeOf(await send(id, "DELETE"))).toEqual([409, "domain_in_use"]);
    await call(api(`/v1/links/${link.id}`), { key: account.key, method: "DELETE" });
    const removed = await send(id, "DELETE");
    expect([removed.status, removed.body]).toEqual([
      200,
      { success: true, message: expect.any(String) },
    ]);
    expect(codeOf(await send(id, "GET"))).toEqual([404, "not_found"]);
    const late = await createLink({ url: "https://example.com/", domain: "busy.example.com" });
    expect(codeOf(late)).toEqual([400, "invalid_request"]);
    // Another account can verify it now.
    const next = await createAccount(stack, "enterprise", UNLIMITED);
    await addVerified("busy.example.com", next.key);
  });

  test("cannot be destinations, because they would redirect in circles", async () => {
    await addVerified("circle.example.com");
    for (const url of ["https://circle.example.com/x", "http://CIRCLE.example.com.:81/"]) {
      expect(codeOf(await createLink({ url }))).toEqual([400, "invalid_url"]);
    }
    const { body } = await createLink({ url: "https://example.com/" });
    const changed = await call(api(`/v1/links/${linkSchema.parse(body).id}`), {
      key: account.key,
      method: "PATCH",
      body: { url: "https://circle.example.com/" },
    });
    expect(codeOf(changed)).toEqual([400, "invalid_url"]);
  });
});
