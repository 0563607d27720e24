/** Goal: whatever a client sends, it gets a clear answer, and nothing is stored that should not be. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import fc from "fast-check";
import postgres from "postgres";

import { createAccount } from "../harness/admin.ts";
import { type Answer, call, errorAnswer, linkAnswer } from "../harness/api.ts";
import { type ExtraProcess, startApi } from "../harness/processes.ts";
import { type Stack, startStack } from "../harness/stack.ts";

const PLENTY = {
  minute: 1_000_000,
  burst: 1_000_000,
  day: 1_000_000,
  endpoints: {
    "POST /v1/links": 1_000_000,
    "POST /v1/domains": 1_000_000,
    "POST /v1/analytics/bulk": 1_000_000,
    "GET /v1/analytics/*": 1_000_000,
  },
};

/** Requests on their way at once. */
const TOGETHER = 20;

let stack: Stack;
/** As in production, links to private addresses are refused here. */
let strict: ExtraProcess;
let key: string;
let link: string;
let sql: postgres.Sql;

beforeAll(async () => {
  stack = await startStack();
  strict = await startApi(stack, { ALLOW_PRIVATE_TARGETS: "false" });
  ({ key } = await createAccount(stack, "enterprise", PLENTY));
  const { body } = await call(`${strict.url}/v1/links`, {
    key,
    body: { url: "https://example.com/kept", alias: "kept" },
  });
  link = linkAnswer.parse(body).id;
  sql = postgres(stack.info().database_url, { max: 1 });
});
afterAll(async () => {
  await sql.end();
  await strict.stop();
  await stack[Symbol.asyncDispose]();
});

const create = (body: unknown) => call(`${strict.url}/v1/links`, { key, body });
const codeOf = ({ status, body }: Answer) => [status, errorAnswer.parse(body).error.code];

/** All that a request can change. */
async function stored(): Promise<string> {
  const [row] = await sql`
    select (select jsonb_agg(to_jsonb(links) order by id) from links) as links,
           (select count(*) from domains) as domains, (select count(*) from api_keys) as keys`;
  return JSON.stringify(row);
}

/** Texts that somebody might hope to get through. */
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

/** A body that no creation or change takes, whatever else it holds: it has a field that is wrong. */
const wrongField = fc.oneof(
  fc.record({
    url: fc.oneof(fc.integer(), fc.boolean(), fc.constant(null), fc.array(nasty), fc.object()),
  }),
  fc.record({ url: nasty.filter((text) => !/^\s*https?:/i.test(text)) }),
  fc.record({
    url: fc.constant("https://example.com/"),
    alias: nasty.filter((text) => !/^\w[\w-]*$/.test(text)),
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

/** Bytes that are no JSON object. */
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

type Sent = { method: string; path: string; body?: unknown };

const malformed: fc.Arbitrary<Sent> = fc.oneof(
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

/** A lone surrogate has no form in a URL. */
const encode = (text: string): string => encodeURIComponent(text.slice(0, 2_000).toWellFormed());

async function send({ method, path, body }: Sent): Promise<Answer> {
  return await call(strict.url + path.replace(":link", link), {
    key,
    method,
    ...(body === undefined ? {} : { body }),
  });
}

test("ten thousand malformed requests: each refused in the one envelope, none of them stored", async () => {
  const before = await stored();
  const seed = Date.now() & 0x7fffffff;
  const requests = fc.sample(malformed, { numRuns: 10_000, seed });
  for (let start = 0; start < requests.length; start += TOGETHER) {
    const batch = requests.slice(start, start + TOGETHER);
    const answers = await Promise.all(batch.map(send));
    answers.forEach((answer, i) => {
      const what = `seed ${seed}: ${JSON.stringify(batch[i])?.slice(0, 500)} -> ${answer.status} ${JSON.stringify(answer.body).slice(0, 300)}`;
      expect(answer.status >= 400 && answer.status < 500, what).toBe(true);
      expect(errorAnswer.safeParse(answer.body).success, what).toBe(true);
    });
  }
  expect(await stored()).toBe(before);
});

describe("a destination", () => {
  test.each([
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "data:text/html,<script>",
    "vbscript:x",
    "file:///etc/passwd",
    "ftp://example.com/",
    "blob:https://example.com/x",
    "//example.com",
    "https:",
    "https://",
    "http:///",
    "https://user@example.com/",
    "https://user:pw@example.com/",
    "https://example.com@evil.example/",
    "http://localhost/",
    "http://LOCALHOST./",
    "http://a.localhost/",
    "http://127.0.0.1/",
    "http://127.1/",
    "http://0x7f000001/",
    "http://2130706433/",
    "http://0177.0.0.1/",
    "http://①②⑦.0.0.1/",
    "http://10.0.0.1/",
    "http://192.168.1.1/",
    "http://172.16.0.1/",
    "http://169.254.169.254/latest/meta-data",
    "http://0.0.0.0/",
    "http://100.64.0.1/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[fe80::1]/",
    "http://[fd00::1]/",
    "http://singlelabel/",
    "https://exa mple.com/",
    "https://example.com/\u0000",
    "https://example.com/a\r\nb",
    "https://xn--/",
    "https://example..com/",
    "https://[::1/",
    "https://example.com:99999/",
    `https://example.com/${"x".repeat(8_200)}`,
  ])("that must not be led to is refused: %p", async (url) => {
    expect(codeOf(await create({ url }))).toEqual([400, "invalid_url"]);
  });

  test.each([
    ["https://example.com/é", "https://example.com/%C3%A9"],
    ["https://example.com/e\u0301", "https://example.com/e%CC%81"],
    ["https://bücher.example/", "https://xn--bcher-kva.example/"],
    // A homograph is led to under the name that it really has.
    ["https://аррӏе.example/", "https://xn--80ak6aa92e.example/"],
    ["https://example.com/\u202eevil", "https://example.com/%E2%80%AEevil"],
    ["https://example.com/?q=🎈#ü", "https://example.com/?q=%F0%9F%8E%88#%C3%BC"],
    ["HTTPS://EXAMPLE.COM:443/../a", "https://example.com/a"],
    ["https://example.com/%00%0d%0aSet-Cookie:x", "https://example.com/%00%0d%0aSet-Cookie:x"],
    ["https://example.com\\@evil.example/", "https://example.com/@evil.example/"],
  ])("in any script is led to as browsers read it: %p", async (url, location) => {
    const { status, body } = await create({ url });
    expect(status).toBe(201);
    const { short_url, original_url } = linkAnswer.parse(body);
    expect(original_url).toBe(url);
    const { headers } = await call(short_url);
    expect(headers.get("location")).toBe(location);
    expect(headers.has("set-cookie")).toBe(false);
  });
});

test("titles and tags come back as they were given, in whatever form and direction", async () => {
  const texts = [
    "é",
    "e\u0301",
    "שלום",
    "\u202eabc",
    "👩‍👩‍👧",
    "'; drop table links; --",
    "<script>alert(1)</script>",
    "%_\\",
  ];
  for (const title of texts) {
    const { body } = await create({ url: "https://example.com/", title, tags: [title] });
    expect(body).toMatchObject({ title, tags: [title] });
    const found = await call(`${strict.url}/v1/links?search=${encodeURIComponent(title)}`, { key });
    expect(JSON.stringify(found.body)).toContain(JSON.stringify(title));
  }
});
