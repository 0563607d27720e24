/**
 * Goal: the specified interface of links, lists, domains and errors holds, sentence by sentence.
 * Each test is named after a statement of the specification, and checks it on a running service
 * through the client.
 */
import { beforeAll, describe, expect, test } from "bun:test";

import * as z from "zod";

import {
  type Client,
  createClient,
  type NewLink,
  ShorthopError,
} from "../../clients/typescript/src/index.ts";
import { createAccount, createKey, UNLIMITED } from "../harness/admin.ts";
import { call } from "../harness/api.ts";
import { eventually } from "../harness/eventually.ts";
import { forFile } from "../harness/for-file.ts";
import { useStack } from "../harness/stack.ts";

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

const createClientWith = (apiKey: string) =>
  createClient({ baseUrl: stack.info().api_url, apiKey, retriesMax: 0 });

const stack = await forFile(useStack());
// The one limit that the specification names is as every account has it.
const endpoints = { ...UNLIMITED.endpoints, "POST /v1/domains": 10 };
const account = await createAccount(stack, "enterprise", { ...UNLIMITED, endpoints });
const client = createClientWith(account.key);

const create = (more: Partial<NewLink> = {}) =>
  client.links.create({ url: "https://example.com/page", ...more });

/** Returns status and code of the API error that a call throws. */
async function expectFailure(work: Promise<unknown>): Promise<[number, string]> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ShorthopError)) throw new Error(`Not an API error: ${String(error)}`);
  return [error.status, error.code];
}

const send = (path: string, options: Parameters<typeof call>[1] = {}) =>
  call(`${stack.info().api_url}${path}`, { key: account.key, ...options });

/** Follows a short URL; returns status and location. */
async function follow(url: string): Promise<[number, string | null]> {
  const { status, headers } = await call(url);
  return [status, headers.get("location")];
}

describe("requests and responses", () => {
  test("contain timestamps as ISO 8601 strings in UTC", async () => {
    const { id } = await create({ expires_at: "2099-12-31T23:00:00+02:00" });
    const { created_at, updated_at, expires_at } = await client.links.get(id);
    expect([created_at, updated_at].every((time) => TIMESTAMP.test(time))).toBe(true);
    expect(expires_at).toBe("2099-12-31T21:00:00.000Z");
  });
});

describe("link fields", () => {
  test("short_url: full short URL on the short domain, built from the alias", async () => {
    const { short_url, alias } = await create();
    expect(short_url).toBe(`${stack.info().short_url}/${alias}`);
    expect(await follow(short_url)).toEqual([302, "https://example.com/page"]);
  });

  test("original_url: destination URL", async () => {
    expect((await create({ url: "https://example.com" })).original_url).toBe("https://example.com");
  });

  test("alias: custom or generated path segment of the short URL", async () => {
    expect((await create({ alias: "spec-Custom_1" })).alias).toBe("spec-Custom_1");
    expect((await create()).alias).toMatch(/^[A-Za-z0-9]{7,}$/);
  });

  test("clicks: total clicks; 0 on creation", async () => {
    const link = await create();
    expect(link.clicks).toBe(0);
    await follow(link.short_url);
    await eventually(async () => expect((await client.links.get(link.id)).clicks).toBe(1));
  });

  test("unique_clicks, updated_at, has_password: returned by get-one only", async () => {
    const link = await create();
    const full = await client.links.get(link.id);
    expect(full).toMatchObject({ unique_clicks: 0, has_password: false });
    expect(full.updated_at).toBe(link.created_at);
    const [summary] = (await client.links.list({ search: link.alias })).data;
    for (const field of ["unique_clicks", "updated_at", "has_password"]) {
      expect(link).not.toHaveProperty(field);
      expect(summary).not.toHaveProperty(field);
    }
  });

  test("expires_at: null means no expiry; an expired link does not redirect", async () => {
    expect((await create()).expires_at).toBeNull();
    const link = await create({ expires_at: new Date(Date.now() + 700).toISOString() });
    expect((await follow(link.short_url))[0]).toBe(302);
    await eventually(async () => expect((await follow(link.short_url))[0]).toBe(410));
  });

  test("has_password is true when the link is password protected; the password is never returned", async () => {
    const link = await create({ password: "open sesame" });
    const full = await client.links.get(link.id);
    expect(full.has_password).toBe(true);
    expect(JSON.stringify([link, full])).not.toContain("sesame");
    expect((await follow(link.short_url))[0]).toBe(401);
  });

  test("the UTM fields are accepted on creation and not returned", async () => {
    const utm = { utm_source: "news", utm_medium: "mail", utm_campaign: "may" };
    const link = await create(utm);
    expect(JSON.stringify([link, await client.links.get(link.id)])).not.toContain("utm");
    expect(await follow(link.short_url)).toEqual([
      302,
      "https://example.com/page?utm_source=news&utm_medium=mail&utm_campaign=may",
    ]);
  });
});

describe("POST /v1/links", () => {
  test("400 invalid_url when the URL format is invalid", async () => {
    expect(await expectFailure(create({ url: "not a url" }))).toEqual([400, "invalid_url"]);
  });

  test("400 alias_taken when the alias is already in use", async () => {
    await create({ alias: "spec-taken" });
    expect(await expectFailure(create({ alias: "spec-taken" }))).toEqual([400, "alias_taken"]);
  });
});

describe("GET /v1/links/{id}", () => {
  test("404 not_found when the link does not exist", async () => {
    expect(await expectFailure(client.links.get("link_none"))).toEqual([404, "not_found"]);
  });
});

describe("GET /v1/links", () => {
  let own: Client;
  beforeAll(async () => {
    own = createClientWith((await createAccount(stack, "enterprise", UNLIMITED)).key);
    for (let i = 0; i < 25; i++) {
      await own.links.create({
        url: `https://example.com/u-${i}`,
        alias: `spec-a-${i}`,
        title: `Title ${i}`,
        tags: [i % 2 === 0 ? "even" : "odd"],
      });
    }
  });

  test("returns the links of the authenticated user", async () => {
    const aliases: string[] = [];
    for await (const { alias } of own.links.all({ limit: 7 })) aliases.push(alias);
    expect(aliases).toEqual(Array.from({ length: 25 }, (_, i) => `spec-a-${24 - i}`));
  });

  test("page: default 1; limit: default 20, maximum 100", async () => {
    const { data, pagination } = await own.links.list();
    expect(data).toHaveLength(20);
    expect(pagination).toEqual({ page: 1, limit: 20, total: 25, total_pages: 2 });
    expect((await own.links.list({ limit: 100 })).data).toHaveLength(25);
    expect(await expectFailure(own.links.list({ limit: 101 }))).toEqual([400, "invalid_request"]);
  });

  test("sort: created_at or clicks; order: asc or desc", async () => {
    const last = (await own.links.list({ sort: "created_at", order: "asc", limit: 1 })).data[0];
    expect(last?.alias).toBe("spec-a-0");
    await follow(last?.short_url ?? "");
    await eventually(async () => {
      const [top] = (await own.links.list({ sort: "clicks", order: "desc", limit: 1 })).data;
      expect(top?.alias).toBe("spec-a-0");
    });
  });
});

describe("PATCH /v1/links/{id}", () => {
  test("changes only the fields sent; returns the updated link", async () => {
    const link = await create({ title: "Old", expires_at: "2099-01-01T00:00:00Z" });
    const changed = await client.links.update(link.id, { url: "https://example.com/new" });
    expect(changed).toMatchObject({
      ...link,
      original_url: "https://example.com/new",
      title: "Old",
    });
    expect(changed).toEqual(await client.links.get(link.id));
  });

  test("404 not_found; 400 invalid_url", async () => {
    const { id } = await create();
    expect(await expectFailure(client.links.update("link_none", {}))).toEqual([404, "not_found"]);
    expect(await expectFailure(client.links.update(id, { url: "x" }))).toEqual([
      400,
      "invalid_url",
    ]);
  });
});

describe("DELETE /v1/links/{id}", () => {
  test("is permanent, and returns { success, message }", async () => {
    const { id } = await create();
    expect(await client.links.delete(id)).toEqual({ success: true, message: expect.any(String) });
    expect(await expectFailure(client.links.get(id))).toEqual([404, "not_found"]);
    expect(await expectFailure(client.links.delete(id))).toEqual([404, "not_found"]);
  });
});

describe("GET /v1/links/{id}/qr", () => {
  test("encodes the short URL, as SVG or PNG of the requested size", async () => {
    const { id } = await create();
    const svg = await client.links.qr(id, { size: 300, error_correction: "H" });
    expect(svg.type).toStartWith("image/svg+xml");
    expect(await svg.text()).toContain('width="300"');
    const png = await client.links.qr(id, { format: "png", size: 512 });
    expect(png.type).toBe("image/png");
    const bytes = Buffer.from(await png.arrayBuffer());
    expect([bytes.toString("latin1", 1, 4), bytes.readUInt32BE(16)]).toEqual(["PNG", 512]);
    expect(await expectFailure(client.links.qr(id, { size: 5 }))).toEqual([400, "invalid_request"]);
  });
});

describe("domains", () => {
  test("POST /v1/domains is a rate-limited operation: 10 per hour", async () => {
    for (let i = 0; i < 10; i++) await client.domains.create(`d${i}.example.com`);
    const rejected = await client.domains
      .create("d10.example.com")
      .catch((error: unknown) => error);
    expect(rejected).toMatchObject({ status: 429, code: "rate_limited" });
    const listed: string[] = [];
    for await (const { domain } of client.domains.all()) listed.push(domain);
    expect(listed).toEqual(Array.from({ length: 10 }, (_, i) => `d${9 - i}.example.com`));
  });
});

describe("errors", () => {
  test("use one envelope; the 429 body also contains retry_after", async () => {
    const { body } = await send("/v1/links/link_none");
    expect(body).toEqual({
      error: { code: "not_found", message: expect.any(String), doc_url: expect.any(String) },
    });
    const { key } = await createAccount(stack, "enterprise", { minute: 1, burst: 1 });
    await send("/v1/links", { key });
    const limited = await send("/v1/links", { key });
    expect(limited.status).toBe(429);
    expect(limited.headers.get("content-type")).toStartWith("application/json");
    const { error } = z
      .object({ error: z.object({ message: z.string(), retry_after: z.int().min(1) }) })
      .parse(limited.body);
    expect(limited.headers.get("retry-after")).toBe(String(error.retry_after));
    expect(error.message).toContain(String(error.retry_after));
  });

  test("401 unauthorized: missing or invalid API key", async () => {
    expect(await expectFailure(createClientWith("sk_live_nonsense").links.list())).toEqual([
      401,
      "unauthorized",
    ]);
  });

  test("403 forbidden: key lacks the scope; 403 key_revoked: key revoked", async () => {
    const { key, id } = await createKey(stack, account.id, "links:read");
    const narrow = createClientWith(key);
    expect(await expectFailure(narrow.links.delete("link_none"))).toEqual([403, "forbidden"]);
    await client.keys.revoke(id);
    expect(await expectFailure(narrow.links.list())).toEqual([403, "key_revoked"]);
  });
});
