/** Goal: whatever a request of another API contains, it is answered or refused, and never fails. */
import { expect, test } from "bun:test";

import { createAccount, UNLIMITED } from "../../test/harness/admin.ts";
import { ApiInProcess } from "../../test/harness/api-in-process.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { casesOf } from "../../test/harness/property-runs.ts";

/** Many at once, so that the test takes no longer than others. */
const AT_ONCE = 8;

/** Cases of the short form. */
const SHORT = 80;

const TEXTS: readonly string[] = [
  "\u0000",
  "\u001b",
  "\uffff",
  "\ud800",
  "\u202e\u200d",
  "🎈".repeat(200),
  "a".repeat(9_000),
  "/".repeat(300),
  "../../etc/passwd",
  "%",
  "%00%ff",
  "__proto__",
  "constructor",
  "-1",
  "1e999",
  "9007199254740993",
  "2026-13-45T99:99:99Z",
  "+275760-09-13T00:00:00Z",
  "-271821-04-20T00:00:00Z",
  "' or 1=1 --",
  "\r\nx-injected: 1",
  "<script>alert(1)</script>",
  "javascript:alert(1)",
  "http://[::1",
  "https://example.com:99999/",
];

/** JSON values that a body may have in place of a text. */
const VALUES: readonly unknown[] = [...TEXTS, null, true, 1.5, -1, [], {}, [[]], [null], [1e308]];

type Case = { path: string; method?: string; body?: unknown };

const encode = (text: string): string => encodeURIComponent(text.toWellFormed());

/** Each text in each place of each API. */
function* cases(): Generator<Case> {
  for (const text of TEXTS.map(encode)) {
    for (const field of [
      "action",
      "format",
      "url",
      "keyword",
      "title",
      "shorturl",
      "filter",
      "start",
    ])
      for (const action of ["shorturl", "expand", "stats"])
        yield {
          path: `/yourls-api.php?signature=KEY&action=${action}&url=x.example&${field}=${text}`,
        };
    for (const part of ["", "/clicks"]) yield { path: `/v4/bitlinks/bit.ly/${text}${part}` };
    yield { path: `/v4/bitlinks/${text}/known` };
    for (const name of ["unit", "units", "size", "unit_reference"])
      yield { path: `/v4/bitlinks/bit.ly/known/clicks?${name}=${text}` };
    for (const rest of ["", "/visits", "/redirect-rules"])
      yield { path: `/rest/v3/short-urls/${text}${rest}?domain=${text}` };
    for (const name of [
      "page",
      "itemsPerPage",
      "tags[]",
      "orderBy",
      "startDate",
      "domain",
      "searchTerm",
    ])
      yield { path: `/rest/v3/short-urls?tagsMode=all&${name}=${text}` };
    for (const name of ["page", "itemsPerPage", "startDate", "endDate"])
      yield { path: `/rest/v3/visits/non-orphan?${name}=${text}` };
    for (const path of [`tags/${text}/visits`, `domains/${text}/visits`])
      yield { path: `/rest/v3/${path}` };
    yield { path: `/rest/v3/tags?tags[]=${text}`, method: "DELETE" };
  }
  for (const value of VALUES) {
    yield { path: "/v4/expand", body: { bitlink_id: value } };
    for (const field of ["long_url", "domain", "keyword", "tags", "expiration_at", "deeplinks"])
      yield { path: "/v4/bitlinks", body: { long_url: "https://example.com/", [field]: value } };
    for (const field of [
      "longUrl",
      "customSlug",
      "domain",
      "tags",
      "validUntil",
      "maxVisits",
      "findIfExists",
    ])
      yield {
        path: "/rest/v3/short-urls",
        body: { longUrl: "https://example.com/", findIfExists: true, [field]: value },
      };
    yield { path: "/rest/v3/short-urls/known", method: "PATCH", body: { validUntil: value } };
    yield { path: "/rest/v3/tags", method: "PUT", body: { oldName: value, newName: value } };
    for (const body of [
      value,
      { redirectRules: value },
      { redirectRules: [{ longUrl: value, conditions: value }] },
      {
        redirectRules: [
          {
            longUrl: "https://example.com/",
            conditions: [{ type: "query-param", matchKey: value, matchValue: value }],
          },
        ],
      },
    ])
      yield { path: "/rest/v3/short-urls/known/redirect-rules", body };
    yield { path: "/rest/v3/domains/redirects", method: "PATCH", body: { domain: value } };
  }
}

const api = await forFile(ApiInProcess.start({ clickhouse: true }));
const { key } = await createAccount(api, "enterprise", UNLIMITED);
await api.send("/v1/links", { key, body: { url: "https://example.com/", alias: "known" } });

/** What is wrong with the response to a request; undefined when it is as it should be. */
async function problemOf({ path, method, body }: Case): Promise<string | undefined> {
  const response = await fetch(`${api.info().api_url}${path.replace("KEY", key)}`, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: { authorization: key, "x-api-key": key, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const request = `${method ?? ""} ${path} ${JSON.stringify(body)}`.slice(0, 300);
  if (response.status >= 500) return `${response.status} ${request}`;
  if (response.headers.has("x-injected")) return `injected by ${request}`;
  if (response.headers.get("content-type")?.includes("json") === true) JSON.parse(text);
  return undefined;
}

test("hostile texts and values are answered or refused", async () => {
  const all = [...cases()];
  const some = shuffle(all).slice(0, casesOf(all.length, SHORT)).values();
  const problems: string[] = [];
  const work = Array.from({ length: AT_ONCE }, async () => {
    for (const one of some) problems.push(...[(await problemOf(one)) ?? []].flat());
  });
  await Promise.all(work);
  expect(problems).toEqual([]);
});

const shuffle = <Item>(items: readonly Item[]): Item[] =>
  items
    .map((item) => ({ item, at: Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item);
