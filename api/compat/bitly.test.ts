/** Goal: a tool that knows only Bitly's API goes on working, with our keys, limits and errors. */
import { describe, expect, test } from "bun:test";

import { createAccount, createKey } from "../../test/harness/admin.ts";
import { ApiInProcess } from "../../test/harness/api-in-process.ts";
import { type ApiResponse, call } from "../../test/harness/api.ts";
import { forFile } from "../../test/harness/for-file.ts";

const LONG_URL = "https://example.com/a?b=c";

const api = await forFile(ApiInProcess.start({ clickhouse: true }));
const account = await createAccount(api, "enterprise");

type Options = { key?: string; method?: string; body?: unknown };

const ask = (path: string, { key = account.key, method, body }: Options = {}) =>
  call(`${api.info().api_url}${path}`, {
    key,
    ...(method === undefined ? {} : { method }),
    ...(body === undefined ? {} : { body }),
  });

const post = (path: string, body: unknown) => ask(path, { body });

await post("/v4/bitlinks", { long_url: LONG_URL, keyword: "known", title: "Known", tags: ["a"] });

const bitlink = {
  created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+0000$/),
  id: "sho.rt/known",
  link: "http://sho.rt/known",
  custom_bitlinks: [],
  long_url: LONG_URL,
  title: "Known",
  archived: false,
  created_by: expect.stringMatching(/^key_/),
  tags: ["a"],
  deeplinks: [],
  references: { group: "/v4/groups/default" },
};

test("shorten creates a link, and then returns it", async () => {
  const body = { long_url: "https://example.com/new", domain: "bit.ly", group_guid: "Ba1bc23dE4F" };
  const first = await post("/v4/shorten", body);
  const again = await post("/v4/shorten", { ...body, domain: "sho.rt" });
  expect(first).toMatchObject({ status: 201, body: { long_url: body.long_url, title: "" } });
  expect([again.status, again.body]).toEqual([200, first.body]);
});

test("a bare token is a key", async () => {
  const headers = { authorization: account.key };
  const { status } = await call(`${api.info().api_url}/v4/user`, { headers });
  expect(status).toBe(200);
});

test.each([
  ["as Bitly names it", "sho.rt/known"],
  ["with Bitly's domain", "bit.ly/known"],
  ["percent-encoded", "bit.ly%2Fknown"],
  ["as a URL", "https%3A%2F%2Fsho.rt%2Fknown"],
])("a link is found %s", async (_, id) => {
  expect(await ask(`/v4/bitlinks/${id}`)).toMatchObject({ status: 200, body: bitlink });
  const { body } = await ask(`/v4/bitlinks/${id}/clicks/summary`);
  expect(body).toMatchObject({ total_clicks: 0, unit: "day", units: -1 });
});

test("expand returns the destination", async () => {
  const { created_at, id, link, long_url } = bitlink;
  const { status, body } = await post("/v4/expand", { bitlink_id: "bit.ly/known" });
  expect([status, body]).toEqual([200, { created_at, id, link, long_url }]);
});

test("a link is changed, and keeps what the request does not name", async () => {
  const created = { long_url: LONG_URL, keyword: "changed", title: "Before", tags: ["a"] };
  await post("/v4/bitlinks", created);
  const path = "/v4/bitlinks/bit.ly/changed";
  const body = { title: "After", archived: true };
  expect(await ask(path, { method: "PATCH", body })).toMatchObject({
    status: 200,
    body: { title: "After", archived: true, tags: ["a"], long_url: LONG_URL },
  });
});

test("a link expires at an instant as Bitly writes them", async () => {
  const expiring = { long_url: LONG_URL, expiration_at: "2030-01-31T12:00:00+0100" };
  const { status, body } = await post("/v4/bitlinks", { ...expiring, keyword: "expiring" });
  expect([status, body]).toMatchObject([201, { id: "sho.rt/expiring" }]);
  const link = await ask("/v1/links/lookup?alias=expiring");
  expect(link.body).toMatchObject({ expires_at: "2030-01-31T11:00:00.000Z" });
});

test("user and groups say that there is one", async () => {
  expect((await ask("/v4/user")).body).toMatchObject({ default_group_guid: "default" });
  const { body } = await ask("/v4/groups/default");
  expect(body).toMatchObject({ guid: "default", is_active: true, bsds: ["sho.rt"] });
  expect((await ask("/v4/groups")).body).toEqual({ groups: [body] });
});

describe("statistics", () => {
  test.each([
    ["clicks", { link_clicks: expect.any(Array) }],
    ["clicks/summary", { total_clicks: 0 }],
    ["countries", { metrics: [], facet: "countries" }],
    ["referrers", { metrics: [], facet: "referrers" }],
  ])("%s", async (name, expected) => {
    const query = "unit=day&units=7&size=5&unit_reference=2026-03-04T05:06:07%2B0000";
    const { status, body } = await ask(`/v4/bitlinks/bit.ly/known/${name}?${query}`);
    expect(status).toBe(200);
    const asked = { unit: "day", units: 7, unit_reference: "2026-03-04T05:06:07+0000" };
    expect(body).toEqual({ ...asked, ...expected });
  });

  test.each([
    ["day", ["2026-03-04", "2026-03-03", "2026-03-02"]],
    ["week", ["2026-03-02", "2026-02-23", "2026-02-16"]],
    ["month", ["2026-03-01", "2026-02-01", "2026-01-01"]],
  ])("clicks are counted by whole units: %s", async (unit, days) => {
    const query = `unit=${unit}&units=3&unit_reference=2026-03-04T05:06:07%2B0000`;
    const { body } = await ask(`/v4/bitlinks/bit.ly/known/clicks?${query}`);
    const dates = days.map((day) => ({ date: `${day}T00:00:00+0000`, clicks: 0 }));
    expect(body).toMatchObject({ link_clicks: dates });
  });
});

const expectRefused = async (work: Promise<ApiResponse>, status: number, message: string) => {
  const response = await work;
  expect([response.status, response.body]).toEqual([
    status,
    {
      message,
      description: expect.any(String),
      resource: "bitlinks",
      errors: expect.any(Array),
    },
  ]);
};

describe("refused, with our status, is", () => {
  const long_url = LONG_URL;
  const CLICKS = "/v4/bitlinks/bit.ly/known/clicks";

  test.each([
    ["an unknown path", "/v4/campaigns"],
    ["an inherited name", "/v4/constructor"],
    ["an unknown question", "/v4/bitlinks/bit.ly/known/cities"],
    ["an unknown link", "/v4/bitlinks/bit.ly/none"],
    ["a link without an alias", "/v4/bitlinks/bit.ly"],
    ["a link on a domain of strangers", "/v4/bitlinks/example.com/known"],
    ["a path that is not encoded", "/v4/bitlinks/%ff"],
  ])("%s", (_, path) => expectRefused(ask(path), 404, "NOT_FOUND"));

  test.each<[what: string, path: string, body: unknown, message: string]>([
    ["no destination", "/v4/shorten", {}, "INVALID_ARG_LONG_URL"],
    ["a destination that is none", "/v4/shorten", { long_url: "x" }, "INVALID_ARG_LONG_URL"],
    ["a body that is no JSON", "/v4/shorten", "{", "INVALID_REQUEST"],
    ["an unknown domain", "/v4/shorten", { long_url, domain: "a.example" }, "INVALID_ARG_DOMAIN"],
    ["deep links", "/v4/bitlinks", { long_url, deeplinks: [{}] }, "INVALID_ARG_DEEPLINKS"],
    ["a taken keyword", "/v4/bitlinks", { long_url, keyword: "known" }, "INVALID_ARG_KEYWORD"],
    ["hours", `${CLICKS}?unit=hour`, undefined, "INVALID_ARG_UNIT"],
    ["too many units", `${CLICKS}?units=9999`, undefined, "INVALID_ARG_UNITS"],
    ["a date that is none", `${CLICKS}?unit_reference=x`, undefined, "INVALID_ARG_UNIT_REFERENCE"],
  ])("%s", (_, path, body, message) => expectRefused(ask(path, { body }), 400, message));

  test("no key, and another method", async () => {
    await expectRefused(ask("/v4/user", { key: "" }), 401, "UNAUTHORIZED");
    const deletion = ask("/v4/bitlinks/bit.ly/known", { method: "DELETE" });
    await expectRefused(deletion, 404, "NOT_FOUND");
  });

  test("a key without the scope, or of another account", async () => {
    const { key: reader } = await createKey(api, account.id, "links:read");
    const created = await ask("/v4/bitlinks", { key: reader, body: { long_url } });
    expect(created).toMatchObject({ status: 403, body: { message: "FORBIDDEN" } });
    const { key: stranger } = await createAccount(api, "free");
    expect((await ask("/v4/bitlinks/bit.ly/known", { key: stranger })).status).toBe(404);
  });
});
