/** Goal: any input gets a clear response, and nothing invalid is stored. */
import { expect, test } from "bun:test";

import fc from "fast-check";

import { aliasProblem } from "../../shared/contracts/alias.ts";
import { createAccount, UNLIMITED } from "../harness/admin.ts";
import { ApiInProcess } from "../harness/api-in-process.ts";
import { type ApiResponse, call, errorSchema, linkSchema } from "../harness/api.ts";
import { forFile } from "../harness/for-file.ts";
import { casesOf } from "../harness/property-runs.ts";
import { SEED } from "../harness/seed.ts";

const REQUESTS = casesOf(10_000, 400);
const FOREIGN_REQUESTS = casesOf(2_000, 100);

/** Concurrent requests. */
const CONCURRENCY = 20;

const stack = await forFile(
  ApiInProcess.start({ clickhouse: true, env: { ALLOW_PRIVATE_TARGETS: "false" } }),
);
const { key } = await createAccount(stack, "enterprise", UNLIMITED);
const { body } = await call(`${stack.info().api_url}/v1/links`, {
  key,
  body: { url: "https://example.com/unchanged", alias: "unchanged" },
});
const link = linkSchema.parse(body).id;

const create = (body: unknown) => call(`${stack.info().api_url}/v1/links`, { key, body });
/** Reads everything that a request can change. */
async function readStored(): Promise<string> {
  const [row] = await stack.database.sql`
    select (select jsonb_agg(to_jsonb(links) order by id) from links) as links,
           (select count(*) from domains) as domains, (select count(*) from api_keys) as keys`;
  return JSON.stringify(row);
}

/** Texts that are typical for injection attacks and parser errors. */
const nasty = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constantFrom(
    "\u0000",
    "\ud800",
    "' or 1=1 --",
    "'; drop table links; --",
    "${7*7}",
    "{{7*7}}",
    "../../etc/passwd",
    "%00",
    "%",
    "_",
    "\\",
    "\u202e",
    "\r\nx-injected: 1",
    "2026-13-45T99:99:99Z",
    "+275760-09-13T00:00:00Z",
    "http://[::1",
    "e\u0301",
    "é",
    "🎈".repeat(300),
    "x".repeat(70_000),
    "__proto__",
    "constructor",
    "NaN",
    "1e999",
    "-0",
    "null",
    "undefined",
  ),
);

/** A link whose only fault is a field. */
const linkWith = (name: string, value: fc.Arbitrary<unknown>) =>
  value.map((wrong) => ({ url: "https://example.com/", [name]: wrong }));

/** A body with an invalid field, which any creation or update rejects. */
const wrongField = fc.oneof(
  linkWith(
    "url",
    fc.oneof(fc.integer(), fc.boolean(), fc.constant(null), fc.array(nasty), fc.object()),
  ),
  linkWith(
    "url",
    nasty.filter((text) => !/^\s*https?:/i.test(text)),
  ),
  linkWith(
    "alias",
    nasty.filter((text) => aliasProblem(text, null) !== undefined),
  ),
  linkWith("title", fc.oneof(fc.integer(), fc.constant("x".repeat(256)), fc.constant("a\u0007b"))),
  linkWith("expires_at", fc.oneof(nasty, fc.integer(), fc.constant("2001-01-01T00:00:00Z"))),
  linkWith(
    "tags",
    fc.oneof(nasty, fc.array(fc.integer(), { minLength: 1 }), fc.constant(Array(21).fill("t"))),
  ),
  linkWith("password", fc.oneof(fc.constant(""), fc.integer(), fc.constant("x".repeat(129)))),
  linkWith("domain", nasty),
  linkWith("forward_query", nasty),
  fc
    .dictionary(nasty, fc.jsonValue(), { minKeys: 1, maxKeys: 3 })
    .map((fields) => ({ url: "https://example.com/", "no such field": 1, ...fields })),
);

/** Bodies that are not a JSON object. */
const wrongText = fc.oneof(
  nasty.filter((text) => !isObject(text)),
  fc.json().filter((text) => !isObject(text)),
  fc.constantFrom(
    "{",
    '{"url":',
    '{"url":"https://example.com/"',
    "[1]",
    '"x"',
    "[".repeat(50_000),
  ),
);

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

type TestRequest = { method: string; path: string; body?: unknown };

const malformed: fc.Arbitrary<TestRequest> = fc.oneof(
  wrongField.map((body) => ({ method: "POST", path: "/v1/links", body })),
  wrongText.map((body) => ({ method: "POST", path: "/v1/links", body })),
  fc
    .oneof(wrongField, wrongText)
    .map((link_) => ({ method: "POST", path: "/v1/links/bulk", body: { links: link_ } })),
  fc
    .oneof(wrongText, fc.constant({ nope: 1 }))
    .map((body) => ({ method: "PATCH", path: "/v1/links/:link", body })),
  nasty.map((domain) => ({ method: "POST", path: "/v1/domains", body: { domain } })),
  fc
    .record({ name: nasty, scopes: nasty })
    .map((body) => ({ method: "POST", path: "/v1/keys", body })),
  fc
    .record({ link_ids: nasty })
    .map((body) => ({ method: "POST", path: "/v1/analytics/bulk", body })),
  fc
    .tuple(
      fc.constantFrom("page", "limit", "sort", "order"),
      nasty.filter((text) => !/^\s*\d*\s*$/.test(text)),
    )
    .map(([name, value]) => ({ method: "GET", path: `/v1/links?${name}=${encode(value)}` })),
  nasty.map((id) => ({ method: "GET", path: `/v1/links/x${encode(id)}` })),
  nasty.map((id) => ({ method: "DELETE", path: `/v1/domains/x${encode(id)}` })),
  nasty.map((size) => ({ method: "GET", path: `/v1/links/:link/qr?size=${encode(size)}x` })),
  nasty.map((zone) => ({ method: "GET", path: `/v1/analytics/:link?timezone=${encode(zone)}!` })),
);

/** A lone surrogate cannot be encoded in a URL. */
const encode = (text: string): string => encodeURIComponent(text.slice(0, 2_000).toWellFormed());

async function send({ method, path, body }: TestRequest): Promise<ApiResponse> {
  return await call(stack.info().api_url + path.replace(":link", link), {
    key,
    method,
    headers: { "x-api-key": key },
    ...(body === undefined ? {} : { body }),
  });
}

/** Sends requests, some at a time; calls `check` with each response and what it is about. */
async function sendAll(
  requests: readonly TestRequest[],
  check: (response: ApiResponse, what: string) => void,
): Promise<void> {
  const left = requests.values();
  const work = Array.from({ length: CONCURRENCY }, async () => {
    for (const request of left) {
      const response = await send(request);
      const answer = `${response.status} ${JSON.stringify(response.body).slice(0, 300)}`;
      check(response, `${JSON.stringify(request).slice(0, 500)} -> ${answer}`);
    }
  });
  await Promise.all(work);
}

test(`${REQUESTS} malformed requests get error responses with the documented schema, and none is stored`, async () => {
  const before = await readStored();
  const requests = fc.sample(malformed, { numRuns: REQUESTS, seed: SEED });
  await sendAll(requests, ({ status, body }, what) => {
    expect(status >= 400 && status < 500, what).toBe(true);
    expect(errorSchema.safeParse(body).success, what).toBe(true);
  });
  expect(await readStored()).toBe(before);
});

/** Paths of the APIs of other products, with a text in place of each `@`. */
const FOREIGN_PATHS = [
  ..."action format url keyword title shorturl filter start"
    .split(" ")
    .flatMap((field) =>
      ["shorturl", "expand", "stats"].map(
        (action) => `/yourls-api.php?signature=${key}&action=${action}&url=x.example&${field}=@`,
      ),
    ),
  ...["bit.ly/@", "bit.ly/@/clicks", "@/known"].map((path) => `/v4/bitlinks/${path}`),
  ...["unit", "units", "size", "unit_reference"].map(
    (name) => `/v4/bitlinks/bit.ly/unchanged/clicks?${name}=@`,
  ),
  ...["", "/visits", "/redirect-rules"].map((rest) => `/rest/v3/short-urls/@${rest}?domain=@`),
  ..."page itemsPerPage tags[] orderBy startDate domain searchTerm"
    .split(" ")
    .map((name) => `/rest/v3/short-urls?tagsMode=all&${name}=@`),
  ...["page", "itemsPerPage", "startDate", "endDate"].map(
    (name) => `/rest/v3/visits/non-orphan?${name}=@`,
  ),
  ...["tags/@/visits", "domains/@/visits"].map((path) => `/rest/v3/${path}`),
];

const url = "https://example.com/";

type ForeignBody = [method: string, path: string, bodyOf: (value: unknown) => unknown];

const withField = (method: string, path: string, name: string, others = {}): ForeignBody => [
  method,
  path,
  (value) => ({ ...others, [name]: value }),
];

const RULES = "/rest/v3/short-urls/unchanged/redirect-rules";
const inQuery = (value: unknown) => [{ type: "query-param", matchKey: value, matchValue: value }];

/** Bodies of those APIs, with a value in each place. */
const FOREIGN_BODIES: ForeignBody[] = [
  withField("POST", "/v4/expand", "bitlink_id"),
  ..."long_url domain keyword tags expiration_at deeplinks"
    .split(" ")
    .map((name) => withField("POST", "/v4/bitlinks", name, { long_url: url })),
  ..."longUrl customSlug domain tags validUntil maxVisits findIfExists"
    .split(" ")
    .map((name) =>
      withField("POST", "/rest/v3/short-urls", name, { longUrl: url, findIfExists: true }),
    ),
  withField("PATCH", "/rest/v3/short-urls/unchanged", "validUntil"),
  withField("PATCH", "/rest/v3/domains/redirects", "domain"),
  ["PUT", "/rest/v3/tags", (name) => ({ oldName: name, newName: name })],
  ["POST", RULES, (value) => value],
  ["POST", RULES, (value) => ({ redirectRules: [{ longUrl: value, conditions: value }] })],
  ["POST", RULES, (value) => ({ redirectRules: [{ longUrl: url, conditions: inQuery(value) }] })],
];

const foreign: fc.Arbitrary<TestRequest> = fc.oneof(
  fc
    .tuple(fc.constantFrom(...FOREIGN_PATHS), nasty)
    .map(([path, text]) => ({ method: "GET", path: path.replaceAll("@", () => encode(text)) })),
  fc
    .tuple(fc.constantFrom(...FOREIGN_BODIES), fc.oneof(nasty, fc.jsonValue()))
    .map(([[method, path, bodyOf], value]) => ({ method, path, body: bodyOf(value) })),
);

test(`${FOREIGN_REQUESTS} hostile requests of other products' APIs are answered or refused`, async () => {
  const requests = fc.sample(foreign, { numRuns: FOREIGN_REQUESTS, seed: SEED });
  await sendAll(requests, ({ status, headers, body }, what) => {
    expect(status, what).toBeLessThan(500);
    expect(headers.has("x-injected"), what).toBe(false);
    if (headers.get("content-type")?.includes("json") === true) expect(body, what).not.toBeString();
  });
});

test("titles and tags are returned unchanged, in any script, and found in any normalization form", async () => {
  const texts = [
    "é",
    "e\u0301",
    "שלום",
    "👩‍👩‍👧",
    "'; drop table links; --",
    "<script>alert(1)</script>",
    "%_\\",
  ];
  for (const text of texts) {
    const { body } = await create({ url: "https://example.com/", title: text, tags: [text] });
    // Letters are composed.
    const title = text.normalize("NFC");
    expect(body).toMatchObject({ title, tags: [title] });
    const found = await call(
      `${stack.info().api_url}/v1/links?search=${encodeURIComponent(text)}`,
      { key },
    );
    expect(JSON.stringify(found.body)).toContain(JSON.stringify(title));
  }
});
