/**
 * Goal: `/v1/links` validates requests and returns links as documented. That a route needs its key
 * and its scope, and shows nobody else's links, is in `test/api/access.test.ts`; what becomes of the
 * fields in `bulk.test.ts` and `responses.test.ts`.
 */
import { describe, expect, test } from "bun:test";

import { createAccount, UNLIMITED } from "../../test/harness/admin.ts";
import { ApiInProcess } from "../../test/harness/api-in-process.ts";
import { callOnce, type CallOptions, codeOf } from "../../test/harness/api.ts";
import { forFile } from "../../test/harness/for-file.ts";

const url = "https://example.com/";

/** Where nothing listens. */
const NOWHERE = "nats://127.0.0.1:9";

const api = await forFile(ApiInProcess.start());
const { key } = await createAccount(api, "enterprise", UNLIMITED);

const send = (path: string, options: CallOptions = {}) =>
  api.send(`/v1/links${path}`, { key, ...options });

async function create(body: object = {}): Promise<string> {
  const response = await send("", { body: { url, ...body } });
  expect(response.status).toBe(201);
  return (response.body as { id: string }).id;
}

async function countLinks(): Promise<number> {
  const { body } = await send("?page=1");
  return (body as { pagination: { total: number } }).pagination.total;
}

const fifty = (text: string): string[] => Array.from({ length: 50 }, () => text);

/** The fields of a created link by the specification, which come first. */
const SPECIFIED = "id short_url original_url alias title clicks created_at expires_at".split(" ");

const previewOf = (preview: object) => ({ preview });

describe("POST /v1/links", () => {
  test("creates a link and returns it with its address", async () => {
    const { status, headers, body } = await send("", {
      body: { url: "https://example.com/a", alias: "hello", tags: ["a", "b", "a"] },
    });
    const id = (body as { id: string }).id;
    expect([status, headers.get("location")]).toEqual([201, `/v1/links/${id}`]);
    expect(headers.get("x-propagation")).toBeNull();
    expect(body).toEqual({
      id: expect.stringMatching(/^link_/),
      short_url: "http://sho.rt/hello",
      original_url: "https://example.com/a",
      alias: "hello",
      domain: null,
      title: null,
      tags: ["a", "b"],
      clicks: 0,
      created_at: expect.any(String),
      expires_at: null,
      last_click_at: null,
      external_id: null,
      notes: null,
      created_by: expect.anything(),
      status: "active",
    });
    expect(Object.keys(body as object).slice(0, SPECIFIED.length)).toEqual(SPECIFIED);
  });

  test("has the fields of a read as well when they are asked for", async () => {
    const created = await send("?include=settings", { body: { url, password: "secret" } });
    const { id } = created.body as { id: string };
    expect(created.body).toEqual((await send(`/${id}?include=settings`)).body);
    expect(created.body).toMatchObject({ has_password: true, unique_clicks: 0, utm_source: null });
    expect(JSON.stringify(created.body)).not.toContain("argon2");
    expect(JSON.stringify((await send(`/${id}`)).body)).not.toContain("utm");
  });

  test("says when the link is not propagated to the redirectors yet", async () => {
    const cutOff = await api.startApi({ NATS_URL: NOWHERE });
    const { status, headers } = await callOnce(`${cutOff.url}/v1/links`, { key, body: { url } });
    expect([status, headers.get("x-propagation")]).toEqual([201, "pending"]);
    await cutOff.stop();
  });

  const rule = { url, conditions: [{ type: "query", name: "a" }] };
  const rulesWith = (condition: object) => ({ rules: [rule, { url, conditions: [condition] }] });

  test.each<[string, object, string, string?]>([
    ["a value", rulesWith({ type: "country", in: ["DE", "XXX"] }), "rules.1.conditions.0.in.1"],
    ["a type", rulesWith({ type: "moon", in: ["full"] }), "rules.1.conditions.0.type"],
    [
      "a zone",
      rulesWith({ type: "schedule", timezone: "Mars/Base", days: [1], from: "09:00", to: "10:00" }),
      "rules.1.conditions.0.timezone",
    ],
    ["a block", rulesWith({ type: "ip", in: ["203.0.113.0/33"] }), "rules.1.conditions.0.in.0"],
    ["a member", rulesWith({ ...rule.conditions[0], value: "b" }), "rules.1.conditions.0.value"],
    ["no instant", rulesWith({ type: "time" }), "rules.1.conditions.0.from"],
    ["our own host", { rules: [rule, { ...rule, url: "http://sho.rt/" }] }, "rules.1.url", "url"],
    ["too many rules", { rules: Array.from({ length: 21 }, () => rule) }, "rules"],
    [
      "too large rules",
      { rules: Array.from({ length: 9 }, () => ({ ...rule, url: url + "a".repeat(8_000) })) },
      "The link with all its URLs",
    ],
    [
      "too much weight",
      { split: { arms: [99, 99].map((weight) => ({ url, weight })) } },
      "split.arms",
    ],
    ["no title", previewOf({ description: "x" }), "preview.title"],
    ["an empty title", previewOf({ title: " " }), "preview.title"],
    ["too long a title", previewOf({ title: "x".repeat(256) }), "preview.title"],
    ["a control character", previewOf({ title: "a\u0000" }), "preview.title"],
    ["an unknown member", previewOf({ title: "a", video: "x" }), "preview.video"],
    [
      "a plain image",
      previewOf({ title: "a", image: "http://a.example/" }),
      "preview.image",
      "url",
    ],
    ["a tag that has no path", { tags: ["a", ".."] }, "tags.1"],
    ["an id that has no path", { external_id: "." }, "external_id"],
    ["no image", previewOf({ title: "a", image: "a.png" }), "preview.image", "url"],
    ["a script", previewOf({ title: "a", image: "javascript:alert(1)" }), "preview.image", "url"],
  ])(
    "rejects settings with %s that is not allowed, and names it",
    async (_, body, named, of = "request") => {
      const response = await send("", { body: { url, ...body } });
      expect(codeOf(response)).toEqual([400, `invalid_${of}`]);
      expect(JSON.stringify(response.body)).toContain(`"${named}`);
    },
  );

  test("rejects a rule's id that is given twice", async () => {
    const { body } = await send("?include=settings", { body: { url, rules: [rule] } });
    const [known] = (body as { rules: object[] }).rules;
    const response = await send("", { body: { url, rules: [known, known] } });
    expect(codeOf(response)).toEqual([400, "invalid_request"]);
    expect(JSON.stringify(response.body)).toContain("rules.1.id");
  });

  test("rejects more than 1,000 values of conditions, and names the first condition beyond", async () => {
    const rulesOf = (count: number, conditions: object[]) =>
      Array.from({ length: count }, () => ({ url, conditions }));
    const manyRules = [
      ...rulesOf(10, [{ type: "ip", in: fifty("203.0.113.1") }]),
      ...rulesOf(1, [
        { type: "query", name: "any" },
        ...Array.from({ length: 9 }, () => ({ type: "country", in: fifty("DE") })),
      ]),
      ...rulesOf(1, [{ type: "os", in: fifty("iOS") }]),
    ];
    await create({ rules: manyRules });
    const rules = [...manyRules, ...rulesOf(1, [{ type: "os", in: ["iOS"] }])];
    const response = await send("", { body: { url, rules } });
    expect(codeOf(response)).toEqual([400, "invalid_request"]);
    expect(JSON.stringify(response.body)).toContain("rules.12.conditions.0");
  });

  test("rejects a body whose content type is not JSON", async () => {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const response = await send("", { body: `url=${url}`, headers });
    expect(codeOf(response)).toEqual([415, "unsupported_media_type"]);
  });

  test("rejects too large a body", async () => {
    const response = await send("", { body: { url, title: "x".repeat(1_100_000) } });
    expect(codeOf(response)).toEqual([413, "payload_too_large"]);
  });

  test("rejects an unauthenticated request before it reads the body", async () => {
    const response = await send("", { key: undefined, body: "not even JSON" });
    expect(codeOf(response)).toEqual([401, "unauthorized"]);
  });
});

describe("GET /v1/links/:id", () => {
  test("has an ETag, and is not sent again to a client that has it", async () => {
    const id = await create();
    const etag = (await send(`/${id}`)).headers.get("etag") ?? "";
    expect(etag).toMatch(/^"\d+-0-0-0"$/);
    const again = await send(`/${id}`, { headers: { "if-none-match": etag } });
    expect([again.status, again.body, again.headers.get("etag")]).toEqual([304, "", etag]);
    expect((await send(`/${id}`, { headers: { "if-none-match": '"2"' } })).status).toBe(200);
  });

  test.each(["link_01k9z3v6x7e8w9r0t1y2u3i4o5", "no-id", "%00", "key_01k9z3v6x7e8w9r0t1y2u3i4o5"])(
    "does not find %s",
    async (id) => expect(codeOf(await send(`/${id}`))).toEqual([404, "not_found"]),
  );
});

test.each(["", "?alias=", "?alias=%20", "?short_url=", "?alias=a&short_url=sho.rt/a"])(
  "a look-up that names no link, or two, finds none: %s",
  async (query) => expect(codeOf(await send(`/lookup${query}`))).toEqual([400, "invalid_request"]),
);

test.each(["limit=0", "limit=1e9", "page=-1", "sort=alias", "order=up", "page=1&page=x"])(
  "a list with ?%s is rejected",
  async (query) => expect(codeOf(await send(`?${query}`))).toEqual([400, "invalid_request"]),
);

test("a list has 20 links of a page where the request says nothing, and the number of pages", async () => {
  const { key: own } = await createAccount(api, "enterprise", UNLIMITED);
  const links = Array.from({ length: 21 }, () => ({ url }));
  await send("/bulk", { key: own, body: { links } });
  const { body } = await send("", { key: own });
  expect((body as { data: unknown[] }).data).toHaveLength(20);
  expect(body).toMatchObject({ pagination: { page: 1, limit: 20, total: 21, total_pages: 2 } });
});

test("a link is changed and deleted by the account's own id", async () => {
  const id = await create({ external_id: "mine" });
  const changed = await send("/external/mine", { method: "PATCH", body: { title: "New" } });
  expect(changed.body).toMatchObject({ id, title: "New", has_password: false });
  expect((await send("/external/mine", { method: "DELETE" })).body).toMatchObject({
    success: true,
  });
  expect(codeOf(await send(`/${id}`))).toEqual([404, "not_found"]);
});

test("with If-None-Match: * no link is changed that exists, so that a PUT only creates", async () => {
  const put = (title: string) => {
    const headers = { "if-none-match": "*" };
    return send("/external/new", { method: "PUT", headers, body: { url, title } });
  };
  expect((await put("First")).status).toBe(201);
  expect(codeOf(await put("Second"))).toEqual([412, "precondition_failed"]);
  expect((await send("/external/new")).body).toMatchObject({ title: "First" });
});

test("a change sets and removes what it names, and without an effect is none", async () => {
  const id = await create({ title: "T", notes: "N", expires_at: "2099-01-01T00:00:00Z" });
  const change = async (body: object) => (await send(`/${id}`, { method: "PATCH", body })).body;
  const before = (await send(`/${id}`)).body as { updated_at: string };
  for (const body of [{}, { title: "T" }, { url }])
    expect(await change(body)).toMatchObject({ updated_at: before.updated_at });
  const without = { title: null, notes: null, expires_at: null };
  expect(await change({ ...without, password: "secret" })).toMatchObject({
    ...without,
    has_password: true,
  });
  expect(await change({ password: null })).toMatchObject({ has_password: false });
  await change({ url: "HTTPS://example.com/Changed" });
  expect((await send("?url=https://example.com/Changed")).body).toMatchObject({
    data: [{ id, original_url: "HTTPS://example.com/Changed" }],
  });
});

test.each<object>([
  { max_clicks: 0 },
  { max_clicks: 1.5 },
  { max_clicks: 1e10 },
  { max_clicks: "3" },
  { limit_counts: "bots" },
  { confirm: "yes" },
  { clicks_left: 3 },
  { ledger: { id: "link_01k9z3v6x7e8w9r0t1y2u3i4o5", before: 0 } },
])("a limit of clicks cannot be changed by %j", async (body) => {
  const id = await create({ max_clicks: 3 });
  const response = await send(`/${id}`, { method: "PATCH", body });
  expect(codeOf(response)).toEqual([400, "invalid_request"]);
  expect((await send(`/${id}`)).body).toMatchObject({ max_clicks: 3, clicks_left: 3 });
});

test.each<[object, string]>([
  [{ domain: "go.example.com" }, "invalid_request"],
  [{ url: "nonsense" }, "invalid_url"],
  [{ url: "http://sho.rt/circle" }, "invalid_url"],
])("a link is not changed by %j", async (body, code) => {
  const id = await create();
  const before = (await send(`/${id}`)).body;
  expect(codeOf(await send(`/${id}`, { method: "PATCH", body }))).toEqual([400, code]);
  expect((await send(`/${id}`)).body).toEqual(before);
});

test.each([0, 101])("a bulk creation of %i links creates none", async (count) => {
  const before = await countLinks();
  const body = { links: Array.from({ length: count }, () => ({ url })) };
  expect(codeOf(await send("/bulk", { body }))).toEqual([400, "invalid_request"]);
  expect(await countLinks()).toBe(before);
});
