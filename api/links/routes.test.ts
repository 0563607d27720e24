/**
 * Goal: `/v1/links` validates and authorises requests and returns links as documented, on a fake
 * store.
 */
import { beforeAll, beforeEach, describe, expect, test } from "bun:test";

import { encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import {
  createFakeApi,
  errorCodeOf,
  type FakeApi,
  type FakeKey,
  SHORT_URL,
} from "../../test/harness/fake-api.ts";
import { linkRow } from "../../test/harness/link-row.ts";
import { notFound } from "../http/errors.ts";
import type { AccountScope } from "../http/principal.ts";
import type { CreateLinkBody, LinkRow } from "./model.ts";
import { aliasTaken } from "./names.ts";
import type { LinkService } from "./service.ts";

const rowOf = (owner: AccountScope, id: Uuid, body: CreateLinkBody): LinkRow =>
  linkRow({
    id,
    account_id: owner.accountId,
    mode: owner.mode,
    alias: body.alias ?? "generated",
    original_url: body.url,
    target_url: body.url,
    title: body.title ?? null,
    password_hash: body.password === undefined ? null : "$argon2id$…",
    tags: body.tags ?? [],
    external_id: body.external_id ?? null,
    created_at: new Date("2026-01-02T03:04:05.678Z"),
    updated_at: new Date("2026-01-02T03:04:05.678Z"),
  });

/** Links in a map, separated by account and mode. */
function createMemoryLinks() {
  const rows = new Map<Uuid, LinkRow>();
  let propagated = true;
  const get = async (owner: AccountScope, id: Uuid | undefined) => {
    const row = id === undefined ? undefined : rows.get(id);
    if (row?.account_id !== owner.accountId || row.mode !== owner.mode) throw notFound("link");
    return row;
  };
  const service: Partial<LinkService> = {
    get,
    // Nothing completes a link of which only the id is asked: that may take half a second.
    async findExternal({ accountId }, externalId) {
      const found = [...rows.values()].find(
        ({ account_id, external_id }) => account_id === accountId && external_id === externalId,
      );
      if (found === undefined) throw notFound("link");
      return found;
    },
    async create(owner, id, body) {
      const link = rowOf(owner, id, body);
      if ([...rows.values()].some(({ alias }) => alias === link.alias))
        throw aliasTaken(link.alias);
      rows.set(id, link);
      return { link, propagated };
    },
    async list(owner, { page = 1, limit }) {
      const own = [...rows.values()].filter((row) => row.account_id === owner.accountId);
      return {
        rows: own.slice((page - 1) * limit, page * limit),
        total: own.length,
        next: null,
      };
    },
    async update(owner, id, body) {
      const link = { ...(await get(owner, id)), title: body.title ?? null };
      rows.set(link.id, link);
      return { link, propagated };
    },
    async remove(owner, id) {
      rows.delete((await get(owner, id)).id);
      return { propagated };
    },
  };
  return {
    rows,
    service,
    disconnectFeed: () => void (propagated = false),
    reset() {
      rows.clear();
      propagated = true;
    },
  };
}

const links = createMemoryLinks();
let api: FakeApi;
let key: FakeKey;

beforeAll(() => void (api = createFakeApi({ links: links.service })));
beforeEach(() => {
  links.reset();
  key = api.addKey();
});

const create = (body: unknown = { url: "https://example.com/", alias: "hello" }) =>
  api.send("/v1/links", { key, body });

async function createdId(): Promise<string> {
  const { body } = await create();
  return (body as { id: string }).id;
}

/** The fields of a created link by the specification, which come first. */
const SPECIFIED = "id short_url original_url alias title clicks created_at expires_at".split(" ");

describe("POST /v1/links", () => {
  test("creates a link and returns it with its address", async () => {
    const { status, headers, body } = await create({
      url: "https://example.com/a",
      alias: "hello",
      tags: ["a", "b", "a"],
    });
    const [row] = links.rows.values();
    const id = encodeId("link", row?.id ?? newUuid());
    expect(status).toBe(201);
    expect(headers.get("location")).toBe(`/v1/links/${id}`);
    expect(headers.get("x-propagation")).toBeNull();
    expect(headers.get("x-ratelimit-remaining")).toBe("999");
    expect(body).toEqual({
      id,
      short_url: `${SHORT_URL}/hello`,
      original_url: "https://example.com/a",
      alias: "hello",
      domain: null,
      title: null,
      tags: ["a", "b"],
      clicks: 0,
      created_at: "2026-01-02T03:04:05.678Z",
      expires_at: null,
      last_click_at: null,
      external_id: null,
      notes: null,
      created_by: null,
      status: "active",
    });
    expect(Object.keys(body as object).slice(0, SPECIFIED.length)).toEqual(SPECIFIED);
  });

  test("has the fields of a read as well when they are asked for", async () => {
    const { body } = await api.send("/v1/links?include=settings", {
      key,
      body: { url: "https://example.com/", password: "secret" },
    });
    const { id } = body as { id: string };
    const read = await api.send(`/v1/links/${id}?include=settings`, { key });
    expect(body).toEqual(read.body);
    expect(body).toMatchObject({ has_password: true, unique_clicks: 0, utm_source: null });
  });

  test("says when the link is not propagated to the redirectors yet", async () => {
    links.disconnectFeed();
    const { status, headers } = await create();
    expect([status, headers.get("x-propagation")]).toEqual([201, "pending"]);
  });

  test.each<[string, unknown]>([
    ["no URL", { alias: "a" }],
    ["an unknown field", { url: "https://example.com/", colour: "red" }],
    ["a title that is not text", { url: "https://example.com/", title: 7 }],
    ["a time without an offset", { url: "https://example.com/", expires_at: "2030-01-01" }],
    ["an array", []],
    ["broken JSON", '{"url": '],
  ])("rejects %s and creates nothing", async (_, body) => {
    const response = await create(body);
    expect([response.status, errorCodeOf(response)]).toEqual([400, "invalid_request"]);
    expect(links.rows.size).toBe(0);
  });

  test("rejects more than 1,000 values of conditions, and names the first condition beyond", async () => {
    const manyRules = [
      ...Array.from({ length: 10 }, () => ({
        url: "https://example.com/",
        conditions: [{ type: "ip", in: Array.from({ length: 50 }, (_, i) => `203.0.113.${i}`) }],
      })),
      {
        url: "https://example.com/",
        conditions: [
          { type: "query", name: "any" },
          ...Array.from({ length: 9 }, () => ({ type: "country", in: Array(50).fill("DE") })),
        ],
      },
      {
        url: "https://example.com/",
        conditions: [{ type: "os", in: Array(50).fill("iOS") }],
      },
    ];
    const url = "https://example.com/";
    expect((await create({ url, rules: manyRules })).status).toBe(201);
    links.reset();
    const rules = [...manyRules, { url, conditions: [{ type: "os", in: ["iOS"] }] }];
    const response = await create({ url, rules });
    expect([response.status, errorCodeOf(response)]).toEqual([400, "invalid_request"]);
    expect(response.text).toContain("rules.12.conditions.0");
    expect(links.rows.size).toBe(0);
  });

  test("returns the service's error when the link is not valid", async () => {
    await create();
    const response = await create();
    expect([response.status, errorCodeOf(response)]).toEqual([400, "alias_taken"]);
    expect(links.rows.size).toBe(1);
  });

  test("rejects a body whose content type is not JSON", async () => {
    const response = await api.send("/v1/links", {
      key,
      body: "url=https://example.com/",
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    expect([response.status, errorCodeOf(response)]).toEqual([415, "unsupported_media_type"]);
  });

  test("rejects an unauthenticated request before it reads the body", async () => {
    const response = await api.send("/v1/links", { body: "not even JSON" });
    expect([response.status, errorCodeOf(response)]).toEqual([401, "unauthorized"]);
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
  });

  test("needs the scope links:write", async () => {
    const reader = api.addKey({ scopes: ["links:read"] });
    const response = await api.send("/v1/links", {
      key: reader,
      body: { url: "https://example.com/" },
    });
    expect([response.status, errorCodeOf(response)]).toEqual([403, "forbidden"]);
    expect(links.rows.size).toBe(0);
  });
});

describe("GET /v1/links/:id", () => {
  test("returns every field of the link, with has_password instead of the password", async () => {
    const { body } = await create({ url: "https://example.com/", password: "secret" });
    const { id } = body as { id: string };
    const response = await api.send(`/v1/links/${id}`, { key });
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({ id, has_password: true, unique_clicks: 0 });
    expect(response.text).not.toContain("argon2");
  });

  test("returns the settings that can be written, when they are asked for", async () => {
    const id = await createdId();
    const plain = await api.send(`/v1/links/${id}`, { key });
    expect(plain.text).not.toContain("utm");
    const { body } = await api.send(`/v1/links/${id}?include=settings`, { key });
    expect(body).toMatchObject({ forward_query: false, utm_source: null, external_id: null });
  });

  test("has an ETag, and is not sent again to a client that has it", async () => {
    const id = await createdId();
    const etag = (await api.send(`/v1/links/${id}`, { key })).headers.get("etag") ?? "";
    expect(etag).toBe('"1-0-0-0"');
    const again = await api.send(`/v1/links/${id}`, { key, headers: { "if-none-match": etag } });
    expect([again.status, again.text, again.headers.get("etag")]).toEqual([304, "", etag]);
    const other = await api.send(`/v1/links/${id}`, { key, headers: { "if-none-match": '"2"' } });
    expect(other.status).toBe(200);
  });

  test.each(["link_01k9z3v6x7e8w9r0t1y2u3i4o5", "no-id", "%00", "key_01k9z3v6x7e8w9r0t1y2u3i4o5"])(
    "does not find %s",
    async (id) => {
      const response = await api.send(`/v1/links/${id}`, { key });
      expect([response.status, errorCodeOf(response)]).toEqual([404, "not_found"]);
    },
  );

  test("does not show a link to another account or in the other mode", async () => {
    const id = await createdId();
    for (const other of [
      api.addKey(),
      api.addKey({ accountId: key.accountId, mode: "test" as const }),
    ]) {
      const response = await api.send(`/v1/links/${id}`, { key: other });
      expect([response.status, errorCodeOf(response)]).toEqual([404, "not_found"]);
    }
  });
});

test.each(["", "?alias=", "?alias=%20", "?short_url=", "?alias=a&short_url=sho.rt/a"])(
  "a look-up that names no link, or two, finds none: %s",
  async (query) => {
    const response = await api.send(`/v1/links/lookup${query}`, { key });
    expect([response.status, errorCodeOf(response)]).toEqual([400, "invalid_request"]);
  },
);

describe("GET /v1/links", () => {
  test("returns a page and the total", async () => {
    for (let i = 0; i < 3; i++) await create({ url: "https://example.com/", alias: `a${i}` });
    const { status, body } = await api.send("/v1/links?limit=2&page=2", { key });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      data: [{ alias: "a2" }],
      pagination: { page: 2, limit: 2, total: 3, total_pages: 2 },
    });
  });

  test.each(["limit=0", "limit=1e9", "page=-1", "sort=alias", "order=up", "page=1&page=x"])(
    "rejects ?%s",
    async (query) => {
      const response = await api.send(`/v1/links?${query}`, { key });
      expect([response.status, errorCodeOf(response)]).toEqual([400, "invalid_request"]);
    },
  );

  test("shows only the caller's own links", async () => {
    await create();
    const { body } = await api.send("/v1/links", { key: api.addKey() });
    expect(body).toMatchObject({ data: [], pagination: { total: 0 } });
  });
});

describe("PATCH /v1/links/:id", () => {
  test("updates a link and returns every field", async () => {
    const id = await createdId();
    const { status, body } = await api.send(`/v1/links/${id}`, {
      method: "PATCH",
      key,
      body: { title: "New" },
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({ id, title: "New", has_password: false });
  });

  test("updates and deletes a link by the account's own id", async () => {
    const { body } = await create({ url: "https://example.com/", external_id: "mine" });
    const path = "/v1/links/external/mine";
    const changed = await api.send(path, { method: "PATCH", key, body: { title: "New" } });
    expect(changed.body).toMatchObject({ id: (body as { id: string }).id, title: "New" });
    expect((await api.send(path, { method: "DELETE", key: api.addKey() })).status).toBe(404);
    expect((await api.send(path, { method: "DELETE", key })).status).toBe(200);
    expect(links.rows.size).toBe(0);
  });

  test("rejects a field that cannot be changed", async () => {
    const id = await createdId();
    const response = await api.send(`/v1/links/${id}`, {
      method: "PATCH",
      key,
      body: { domain: "go.example.com" },
    });
    expect([response.status, errorCodeOf(response)]).toEqual([400, "invalid_request"]);
  });

  test("does not update another account's link", async () => {
    const id = await createdId();
    const response = await api.send(`/v1/links/${id}`, {
      method: "PATCH",
      key: api.addKey(),
      body: { title: "Mine" },
    });
    expect([response.status, errorCodeOf(response)]).toEqual([404, "not_found"]);
    expect([...links.rows.values()][0]?.title).toBeNull();
  });
});

describe("DELETE /v1/links/:id", () => {
  test("deletes a link", async () => {
    const id = await createdId();
    const { status, body } = await api.send(`/v1/links/${id}`, { method: "DELETE", key });
    expect([status, body]).toMatchObject([200, { success: true }]);
    expect(links.rows.size).toBe(0);
  });

  test("returns not_found for a deleted link", async () => {
    const id = await createdId();
    await api.send(`/v1/links/${id}`, { method: "DELETE", key });
    const again = await api.send(`/v1/links/${id}`, { method: "DELETE", key });
    expect([again.status, errorCodeOf(again)]).toEqual([404, "not_found"]);
  });

  test("needs the scope links:delete", async () => {
    const id = await createdId();
    const writer = api.addKey({ accountId: key.accountId, scopes: ["links:read", "links:write"] });
    const response = await api.send(`/v1/links/${id}`, { method: "DELETE", key: writer });
    expect([response.status, errorCodeOf(response)]).toEqual([403, "forbidden"]);
    expect(links.rows.size).toBe(1);
  });
});

describe("POST /v1/links/bulk", () => {
  test.each([0, 101])("rejects %i links and creates none", async (count) => {
    const response = await api.send("/v1/links/bulk", {
      key,
      body: { links: Array.from({ length: count }, () => ({ url: "https://example.com/" })) },
    });
    expect([response.status, errorCodeOf(response)]).toEqual([400, "invalid_request"]);
    expect(links.rows.size).toBe(0);
  });
});
