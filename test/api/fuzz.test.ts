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

/** Concurrent requests. */
const CONCURRENCY = 20;

const stack = await forFile(ApiInProcess.start({ env: { ALLOW_PRIVATE_TARGETS: "false" } }));
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

/** A body with an invalid field, which any creation or update rejects. */
const wrongField = fc.oneof(
  fc.record({
    url: fc.oneof(fc.integer(), fc.boolean(), fc.constant(null), fc.array(nasty), fc.object()),
  }),
  fc.record({ url: nasty.filter((text) => !/^\s*https?:/i.test(text)) }),
  fc.record({
    url: fc.constant("https://example.com/"),
    alias: nasty.filter((text) => aliasProblem(text, null) !== undefined),
  }),
  fc.record({
    url: fc.constant("https://example.com/"),
    title: fc.oneof(fc.integer(), fc.constant("x".repeat(256)), fc.constant("a\u0007b")),
  }),
  fc.record({
    url: fc.constant("https://example.com/"),
    expires_at: fc.oneof(nasty, fc.integer(), fc.constant("2001-01-01T00:00:00Z")),
  }),
  fc.record({
    url: fc.constant("https://example.com/"),
    tags: fc.oneof(
      nasty,
      fc.array(fc.integer(), { minLength: 1 }),
      fc.constant(Array(21).fill("t")),
    ),
  }),
  fc.record({
    url: fc.constant("https://example.com/"),
    password: fc.oneof(fc.constant(""), fc.integer(), fc.constant("x".repeat(129))),
  }),
  fc.record({ url: fc.constant("https://example.com/"), domain: nasty }),
  fc.record({ url: fc.constant("https://example.com/"), forward_query: nasty }),
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
    ...(body === undefined ? {} : { body }),
  });
}

test(`${REQUESTS} malformed requests get error responses with the documented schema, and none is stored`, async () => {
  const before = await readStored();
  const requests = fc.sample(malformed, { numRuns: REQUESTS, seed: SEED });
  for (let start = 0; start < requests.length; start += CONCURRENCY) {
    const batch = requests.slice(start, start + CONCURRENCY);
    const responses = await Promise.all(batch.map(send));
    responses.forEach((response, i) => {
      const what = `${JSON.stringify(batch[i])?.slice(0, 500)} -> ${response.status} ${JSON.stringify(response.body).slice(0, 300)}`;
      expect(response.status >= 400 && response.status < 500, what).toBe(true);
      expect(errorSchema.safeParse(response.body).success, what).toBe(true);
    });
  }
  expect(await readStored()).toBe(before);
});

test("titles and tags are returned unchanged, in any script and normalization form", async () => {
  const texts = [
    "é",
    "e\u0301",
    "שלום",
    "👩‍👩‍👧",
    "'; drop table links; --",
    "<script>alert(1)</script>",
    "%_\\",
  ];
  for (const title of texts) {
    const { body } = await create({ url: "https://example.com/", title, tags: [title] });
    expect(body).toMatchObject({ title, tags: [title] });
    const found = await call(
      `${stack.info().api_url}/v1/links?search=${encodeURIComponent(title)}`,
      { key },
    );
    expect(JSON.stringify(found.body)).toContain(JSON.stringify(title));
  }
});
