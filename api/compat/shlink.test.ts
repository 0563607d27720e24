/** Goal: a tool that knows only Shlink's API goes on working, with our keys, limits and errors. */
import { describe, expect, test } from "bun:test";

import { createAccount, createKey } from "../../test/harness/admin.ts";
import { ApiInProcess } from "../../test/harness/api-in-process.ts";
import { type ApiResponse, call } from "../../test/harness/api.ts";
import { forFile } from "../../test/harness/for-file.ts";

const ORIGIN = "https://app.shlink.example";
const LONG_URL = "https://example.com/known";

const api = await forFile(
  ApiInProcess.start({ clickhouse: true, env: { API_CORS_ORIGINS: ORIGIN } }),
);
const account = await createAccount(api, "enterprise");

type Options = { key?: string; method?: string; body?: unknown };

const ask = (path: string, { key = account.key, method, body }: Options = {}) =>
  call(`${api.info().api_url}/rest/v3/${path}`, {
    headers: { "x-api-key": key },
    ...(method === undefined ? {} : { method }),
    ...(body === undefined ? {} : { body }),
  });

await ask("short-urls", { body: { longUrl: LONG_URL, customSlug: "known", tags: ["a", "b"] } });

const shortUrl = {
  shortCode: "known",
  shortUrl: "http://sho.rt/known",
  longUrl: LONG_URL,
  dateCreated: expect.any(String),
  visitsSummary: { total: 0, nonBots: 0, bots: 0 },
  tags: ["a", "b"],
  meta: { validSince: null, validUntil: null, maxVisits: null },
  domain: null,
  title: null,
  crawlable: false,
  forwardQuery: true,
  hasRedirectRules: false,
};

const pagination = (totalItems: number, itemsPerPage: number) => ({
  currentPage: 1,
  pagesCount: 1,
  itemsPerPage,
  itemsInCurrentPage: totalItems,
  totalItems,
});

describe("short URLs", () => {
  test("are created, read, edited and deleted", async () => {
    const settings = {
      title: "Title",
      validSince: "2026-01-01T00:00:00+01:00",
      validUntil: "2090-01-01T00:00:00Z",
      maxVisits: 5,
      forwardQuery: false,
    };
    const body = { longUrl: LONG_URL, customSlug: "all", domain: "sho.rt", ...settings };
    const created = await ask("short-urls", { body });
    expect(created.status).toBe(200);
    expect(created.body).toMatchObject({
      shortCode: "all",
      title: "Title",
      meta: {
        validSince: "2025-12-31T23:00:00.000Z",
        validUntil: "2090-01-01T00:00:00.000Z",
        maxVisits: 5,
      },
      forwardQuery: false,
    });
    expect((await ask("short-urls/all")).body).toEqual(created.body);

    const change = { longUrl: "https://example.com/other", validUntil: null, tags: ["c"] };
    const edited = await ask("short-urls/all?domain=DEFAULT", { method: "PATCH", body: change });
    const { body: read } = await ask("short-urls/all");
    expect([edited.status, edited.body]).toEqual([200, read]);
    expect(read).toMatchObject({
      longUrl: change.longUrl,
      tags: ["c"],
      title: "Title",
      meta: { validUntil: null, maxVisits: 5 },
    });

    const deleted = await ask("short-urls/all", { method: "DELETE" });
    expect([deleted.status, deleted.body]).toEqual([204, ""]);
    expect((await ask("short-urls/all")).status).toBe(404);
  });

  test("findIfExists returns a link to the destination that has the slug and the tags", async () => {
    const found = { longUrl: "https://example.com/found", customSlug: "found", tags: ["a", "b"] };
    await ask("short-urls", { body: found });
    const expected = { ...shortUrl, shortCode: "found", shortUrl: "http://sho.rt/found" };
    const body = { longUrl: found.longUrl, findIfExists: true };
    for (const tags of [undefined, ["b"]])
      expect((await ask("short-urls", { body: { ...body, tags } })).body).toEqual({
        ...expected,
        longUrl: found.longUrl,
      });
    const other = await ask("short-urls", { body: { ...body, tags: ["c"] } });
    expect(other.body).toMatchObject({ tags: ["c"] });
  });

  test("are listed by page, search, tag and order", async () => {
    const { key } = await createAccount(api, "enterprise");
    for (const [customSlug, tags] of [
      ["one", ["x"]],
      ["two", ["x", "y"]],
      ["three", []],
    ] as const)
      await ask("short-urls", {
        key,
        body: { longUrl: LONG_URL, customSlug: `${customSlug}-s`, tags },
      });
    const codes = async (query: string) => {
      const { body } = await ask(`short-urls?${query}`, { key });
      const { shortUrls } = body as { shortUrls: { data: { shortCode: string }[] } };
      return shortUrls.data.map(({ shortCode }) => shortCode.split("-")[0]);
    };
    expect(await codes("")).toEqual(["three", "two", "one"]);
    expect(await codes("itemsPerPage=2&page=2&orderBy=dateCreated-ASC")).toEqual(["three"]);
    expect(await codes("searchTerm=two")).toEqual(["two"]);
    expect(await codes("tags[]=x&tags[]=y&tagsMode=all")).toEqual(["two"]);
    expect(await codes("tags[]=x&orderBy=nonBotVisits-DESC&domain=DEFAULT")).toEqual([
      "two",
      "one",
    ]);
    expect(await codes("startDate=2090-01-01T00:00:00Z&searchTerm=")).toEqual([]);
    const { body } = await ask("short-urls?itemsPerPage=-1", { key });
    expect(body).toMatchObject({
      shortUrls: { pagination: { currentPage: 1, pagesCount: 1, totalItems: 3 } },
    });
  });

  test("have redirect rules, of which those that Shlink does not know are kept", async () => {
    const { body: created } = await ask("short-urls", {
      body: { longUrl: LONG_URL, customSlug: "rules" },
    });
    expect(created).toMatchObject({ hasRedirectRules: false });
    const conditions = [
      { type: "device", matchKey: null, matchValue: "ios" },
      { type: "device", matchKey: null, matchValue: "mobile" },
      { type: "language", matchKey: null, matchValue: "pt-br" },
      { type: "query-param", matchKey: "a", matchValue: "b" },
      { type: "any-value-query-param", matchKey: "c", matchValue: "" },
      { type: "valueless-query-param", matchKey: "d", matchValue: "" },
      { type: "ip-address", matchKey: null, matchValue: "203.0.113.0/24" },
      { type: "geolocation-country-code", matchKey: null, matchValue: "DE" },
    ];
    const rule = { longUrl: "https://example.com/rule", conditions };
    const path = "short-urls/rules/redirect-rules";
    const set = await ask(path, { body: { redirectRules: [rule] } });
    const expected = { defaultLongUrl: LONG_URL, redirectRules: [{ priority: 1, ...rule }] };
    expect([set.status, set.body]).toEqual([200, expected]);
    expect((await ask(path)).body).toEqual(expected);

    const link = await api.send("/v1/links/lookup?alias=rules", { key: account.key });
    const { id } = link.body as { id: string };
    const own = [{ url: LONG_URL, conditions: [{ type: "os", in: ["iOS", "Android"] }] }];
    await api.send(`/v1/links/${id}`, { key: account.key, method: "PATCH", body: { rules: own } });
    expect((await ask(path)).body).toEqual({ defaultLongUrl: LONG_URL, redirectRules: [] });
    expect((await ask(path, { body: { redirectRules: [] } })).status).toBe(409);
  });
});

test("tags are listed with counts, renamed and deleted", async () => {
  const { key } = await createAccount(api, "enterprise");
  for (const tags of [["x", "a/b"], ["x"]])
    await ask("short-urls", { key, body: { longUrl: LONG_URL, tags } });
  expect((await ask("tags", { key })).body).toMatchObject({ tags: { data: ["a/b", "x"] } });
  const renamed = await ask("tags", { key, method: "PUT", body: { oldName: "a/b", newName: "y" } });
  expect(renamed.status).toBe(204);
  const none = { total: 0, nonBots: 0, bots: 0 };
  expect((await ask("tags/stats", { key })).body).toEqual({
    tags: {
      data: [
        { tag: "x", shortUrlsCount: 2, visitsSummary: none },
        { tag: "y", shortUrlsCount: 1, visitsSummary: none },
      ],
      pagination: pagination(2, 2),
    },
  });
  const taken = await ask("tags", { key, method: "PUT", body: { oldName: "x", newName: "y" } });
  expect(taken).toMatchObject({ status: 409, body: { title: "Tag conflict" } });
  expect((await ask("tags?tags[]=x&tags[]=y", { key, method: "DELETE" })).status).toBe(204);
  expect((await ask("tags", { key })).body).toMatchObject({ tags: { data: [] } });
});

test("domains are the service's own and those of the account", async () => {
  const none = { baseUrlRedirect: null, regular404Redirect: null, invalidShortUrlRedirect: null };
  expect((await ask("domains")).body).toEqual({
    domains: {
      data: [{ domain: "sho.rt", isDefault: true, redirects: none }],
      defaultRedirects: none,
    },
  });
});

describe("visits", () => {
  test.each([
    "short-urls/known/visits",
    "short-urls/known/visits?page=1&itemsPerPage=5000&startDate=2026-01-01T00:00:00%2B01:00",
    "short-urls/known/visits?startDate=2022-01-01&endDate=2026-01-01&excludeBots=true",
    "tags/a/visits",
    "domains/DEFAULT/visits",
    "domains/sho.rt/visits?endDate=2026-01-01T00:00:00Z",
    "visits/non-orphan",
    "visits/orphan?type=base_url",
  ])("%s", async (path) => {
    const { status, body } = await ask(path);
    const none = { totalItems: 0, pagesCount: 1, currentPage: 1 };
    expect([status, body]).toMatchObject([200, { visits: { data: [], pagination: none } }]);
  });

  test("are counted for all links", async () => {
    const none = { total: 0, nonBots: 0, bots: 0 };
    const { body } = await ask("visits");
    expect(body).toEqual({ visits: { nonOrphanVisits: none, orphanVisits: none } });
  });
});

test("tools of earlier versions create and read short URLs, and learn why one is refused", async () => {
  for (const version of ["v1", "v2"]) {
    const path = `../${version}/short-urls`;
    const shortCode = `of-${version}`;
    const { body } = await ask(path, { body: { longUrl: LONG_URL, customSlug: shortCode } });
    expect(body).toMatchObject({ shortCode, shortUrl: `http://sho.rt/${shortCode}` });
    expect((await ask(`${path}/${shortCode}`)).body).toMatchObject({ longUrl: LONG_URL });
    await expectRefused(ask(`${path}/none`), 404, "short-url-not-found");
  }
});

test("health needs no key, under all of its paths", async () => {
  for (const path of ["/rest/health", "/rest/v2/health", "/rest/v3/health"]) {
    const { status, body } = await api.send(path);
    expect([status, body]).toMatchObject([200, { status: "pass", version: "4.5.0" }]);
  }
});

test("pages of allowed origins may send X-Api-Key", async () => {
  const preflight = await api.send("/rest/v3/short-urls", {
    method: "OPTIONS",
    headers: {
      origin: ORIGIN,
      "access-control-request-method": "GET",
      "access-control-request-headers": "x-api-key",
    },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get("access-control-allow-headers")).toBe("x-api-key");
  const response = await api.send("/rest/v3/tags", {
    headers: { origin: ORIGIN, "x-api-key": account.key },
  });
  expect(response.headers.get("access-control-allow-origin")).toBe(ORIGIN);
});

async function expectRefused(work: Promise<ApiResponse>, status: number, type: string) {
  const response = await work;
  expect([response.status, response.body]).toMatchObject([
    status,
    {
      type: `https://shlink.io/api/error/${type}`,
      title: expect.any(String),
      detail: expect.any(String),
      status,
    },
  ]);
  expect(response.headers.get("content-type")).toBe("application/problem+json");
}

describe("refused, with our status, is", () => {
  const longUrl = LONG_URL;
  const RULES = "short-urls/known/redirect-rules";
  const rule = (condition: object) => ({ redirectRules: [{ longUrl, conditions: [condition] }] });

  test.each([
    ["an unknown path", "nothing", "not-found"],
    ["a later version", "../v4/short-urls", "not-found"],
    ["an unknown short code", "short-urls/none", "short-url-not-found"],
    ["a short code with slashes", "short-urls/a/b/c/visits", "short-url-not-found"],
    ["a path that is not encoded", "short-urls/%ff", "short-url-not-found"],
  ])("%s", (_, path, type) => expectRefused(ask(path), 404, type));

  test.each([
    ["any of several tags", "short-urls?tags[]=a&tags[]=b"],
    ["an order of titles", "short-urls?orderBy=title-ASC"],
    ["a page that is none", "short-urls?page=0"],
    ["what has no limit left", "short-urls?excludeMaxVisitsReached=true"],
    ["a period that is none", "visits/non-orphan?startDate=x"],
    ["a period of decades", "visits/non-orphan?startDate=2001-01-01"],
  ])("%s", (_, path) => expectRefused(ask(path), 400, "invalid-data"));

  test.each<[what: string, body: unknown, path?: string]>([
    ["no destination", {}],
    ["a destination that is none", { longUrl: "x" }],
    ["a slug that is none", { longUrl, customSlug: "a//b" }],
    ["a crawlable link", { longUrl, crawlable: true }],
    ["a prefix of the path", { longUrl, pathPrefix: "a" }],
    ["a date that is none", { longUrl, validUntil: "x" }],
    ["a body that is no JSON", "["],
    ["a rule by city", rule({ type: "geolocation-city-name", matchValue: "x" }), RULES],
    ["a rule of an unknown device", rule({ type: "device", matchValue: "toString" }), RULES],
  ])("%s", (_, body, path = "short-urls") =>
    expectRefused(ask(path, { body }), 400, "invalid-data"),
  );

  test.each<[string, string, Options, number, string]>([
    ["a text that is no key", "tags", { key: "x" }, 401, "invalid-api-key"],
    [
      "a taken slug",
      "short-urls",
      { body: { longUrl, customSlug: "known" } },
      400,
      "non-unique-slug",
    ],
    ["many tags", `tags?${"tags[]=x&".repeat(11)}`, { method: "DELETE" }, 400, "invalid-data"],
    [
      "an unknown domain",
      "domains/redirects",
      { method: "PATCH", body: { domain: "example.com" } },
      404,
      "domain-not-found",
    ],
    [
      "the deletion of visits",
      "short-urls/known/visits",
      { method: "DELETE" },
      404,
      "short-url-not-found",
    ],
    ["a Mercure hub", "mercure-info", {}, 501, "mercure-not-configured"],
  ])("%s", async (_, path, options, status, type) =>
    expectRefused(ask(path, options), status, type),
  );

  test("no key, a key without the scope, or of another account", async () => {
    const missing = await api.send("/rest/v3/tags");
    expect(missing.body).toMatchObject({ status: 401, title: "Missing authentication" });
    const { key: reader } = await createKey(api, account.id, "links:read");
    expect((await ask("short-urls", { key: reader, body: { longUrl } })).status).toBe(403);
    const { key: stranger } = await createAccount(api, "free");
    for (const method of ["GET", "DELETE"])
      expect((await ask("short-urls/known", { key: stranger, method })).status).toBe(404);
  });
});
