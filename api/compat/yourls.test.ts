/** Goal: a tool that knows only YOURLS goes on working, with our keys, limits and errors. */
import { describe, expect, test } from "bun:test";

import { createAccount, createKey } from "../../test/harness/admin.ts";
import { ApiInProcess } from "../../test/harness/api-in-process.ts";
import { call, linkSchema } from "../../test/harness/api.ts";
import { forFile } from "../../test/harness/for-file.ts";

/** An alias and its link's destination. */
const OZH = { keyword: "ozh", url: "https://example.com/ozh?a=1&b=<2>", title: 'Ozh & "friends"' };

const api = await forFile(ApiInProcess.start({ clickhouse: true }));
const account = await createAccount(api, "enterprise");

type Fields = Record<string, string>;

const url = (fields: Fields): string =>
  `${api.info().api_url}/yourls-api.php?${new URLSearchParams(fields).toString()}`;

/** Asks in JSON, by default with the account's key. */
const ask = (fields: Fields) => call(url({ signature: account.key, format: "json", ...fields }));

await ask({ action: "shorturl", ...OZH });

const success = { message: "success", statusCode: 200 };

const ozhStats = {
  shorturl: "http://sho.rt/ozh",
  url: OZH.url,
  title: OZH.title,
  timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
  ip: "",
  clicks: "0",
};

describe("the requests of its documentation", () => {
  test("shorturl creates a link with a keyword and a title", async () => {
    const chosen = { url: "https://example.com/chosen", keyword: "chosen", title: "Chosen" };
    const { status, body } = await ask({ action: "shorturl", ...chosen });
    expect(status).toBe(200);
    expect(body).toEqual({
      url: { ...chosen, date: expect.any(String), ip: "", clicks: "0" },
      status: "success",
      message: "https://example.com/chosen added to database",
      title: "Chosen",
      shorturl: "http://sho.rt/chosen",
      statusCode: 200,
    });
  });

  test("shorturl without a keyword returns the link that the destination has already", async () => {
    const fields = { action: "shorturl", url: "https://example.com/again" };
    const { body: first } = await ask(fields);
    const { status, body } = await ask(fields);
    expect(status).toBe(200);
    expect(first).toMatchObject({ status: "success", title: fields.url });
    const { shorturl } = first as { shorturl: string };
    expect(body).toMatchObject({ status: "fail", code: "error:url", shorturl });
  });

  test("a destination without a scheme is http", async () => {
    const { body } = await ask({ action: "shorturl", url: "example.com:8080/plain" });
    expect(body).toMatchObject({ url: { url: "http://example.com:8080/plain" } });
  });

  test.each([
    ["a keyword", { shorturl: "ozh" }],
    ["a short URL", { shorturl: "http://sho.rt/ozh" }],
  ])("expand and url-stats take %s", async (_, fields) => {
    expect((await ask({ action: "expand", ...fields })).body).toEqual({
      keyword: "ozh",
      shorturl: "http://sho.rt/ozh",
      longurl: OZH.url,
      title: OZH.title,
      ...success,
    });
    const { body } = await ask({ action: "url-stats", ...fields });
    expect(body).toEqual({ ...success, link: ozhStats });
  });

  test("stats lists links in order, from any start", async () => {
    const { key } = await createAccount(api, "enterprise");
    for (let i = 1; i <= 5; i++)
      await ask({ signature: key, action: "shorturl", url: `https://example.com/${i}` });
    const listed = async (fields: Fields) => {
      const { body } = await ask({ signature: key, action: "stats", ...fields });
      const { links = {}, ...rest } = body as { links?: Record<string, { url: string }> };
      expect(rest).toEqual({ ...success, stats: { total_links: "5", total_clicks: "0" } });
      return Object.entries(links).map(([name, link]) => [name, link.url.slice(-1)].join());
    };
    expect(await listed({ filter: "last", limit: "2" })).toEqual(["link_1,5", "link_2,4"]);
    expect(await listed({ filter: "last", limit: "2", start: "1" })).toEqual([
      "link_1,4",
      "link_2,3",
    ]);
    expect(await listed({ filter: "last", limit: "2", start: "4" })).toEqual(["link_1,1"]);
    expect(await listed({ filter: "top" })).toHaveLength(5);
    expect(await listed({ filter: "bottom", limit: "" })).toHaveLength(5);
  });

  test("db-stats and version", async () => {
    const { key } = await createAccount(api, "enterprise");
    expect((await ask({ signature: key, action: "db-stats" })).body).toEqual({
      "db-stats": { total_links: "0", total_clicks: "0" },
      ...success,
    });
    expect((await ask({ action: "version", db: "1" })).body).toEqual({
      version: "1.9.2",
      db_version: "507",
      statusCode: 200,
    });
  });

  test("parameters come as a form or as multipart, and replace those of the query", async () => {
    const form = new FormData();
    const fields = { username: "joe", password: account.key, action: "expand", shorturl: "ozh" };
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    for (const body of [form, new URLSearchParams(fields)]) {
      const response = await fetch(url({ format: "simple", action: "version" }), {
        method: "POST",
        body,
      });
      expect([response.status, await response.text()]).toEqual([200, OZH.url]);
    }
  });
});

describe("a format", () => {
  const expand = { action: "expand", shorturl: "ozh" };

  test("is XML unless the request names one, and its text is escaped", async () => {
    const response = await fetch(url({ signature: account.key, ...expand }));
    expect(response.headers.get("content-type")).toBe("application/xml; charset=utf-8");
    const text = await response.text();
    expect(text).toStartWith('<?xml version="1.0" encoding="UTF-8"?>\n<result>\n');
    expect(text).toContain("<longurl>https://example.com/ozh?a=1&amp;b=&lt;2&gt;</longurl>");
    expect(text).toContain("<title>Ozh &amp; &quot;friends&quot;</title>");
  });

  test("of simple is plain text, which never stands for a short URL that was not made", async () => {
    expect((await ask({ ...expand, format: "simple" })).body).toBe(OZH.url);
    const taken = { action: "shorturl", url: "https://example.com/", keyword: "ozh" };
    const { status, body } = await ask({ ...taken, format: "simple" });
    expect([status, body]).toEqual([400, ""]);
  });
});

const CREATE = "action=shorturl&url=https://example.com/";

describe("refused, with our status, is", () => {
  test.each([
    ["no key", "signature=&action=version", 401, "unauthorized"],
    ["a text that is no key", "signature=1002a612b4&action=version", 401, "unauthorized"],
    ["a signature with a timestamp", "timestamp=1&action=version", 401, "unauthorized"],
    ["a signature with a hash", "hash=sha256&action=version", 401, "unauthorized"],
    ["an unknown action", "action=delete&keyword=ozh", 400, "invalid_request"],
    ["an inherited name as an action", "action=constructor", 400, "invalid_request"],
    ["no action", "", 400, "invalid_request"],
    ["JSONP", "action=version&format=jsonp&callback=f", 400, "invalid_request"],
    ["a destination that is none", "action=shorturl&url=javascript:alert(1)", 400, "nourl"],
    ["no destination", "action=shorturl", 400, "nourl"],
    ["a taken keyword", `${CREATE}&keyword=ozh`, 400, "keyword"],
    ["a keyword that is none", `${CREATE}&keyword=../x`, 400, "keyword"],
    ["an unknown short URL", "action=expand&shorturl=none", 404, "not_found"],
    ["a blank short URL", "action=expand&shorturl=%20", 404, "not_found"],
    ["a random order", "action=stats&filter=rand", 400, "invalid_request"],
    ["an inherited name as an order", "action=stats&filter=toString", 400, "invalid_request"],
    ["a limit that is no number", "action=stats&limit=-1", 400, "invalid_request"],
  ])("%s", async (_, query, status, code) => {
    const response = await ask(Object.fromEntries(new URLSearchParams(query)));
    expect(response.status).toBe(status);
    expect(response.body).toMatchObject({
      status: "fail",
      code: `error:${code}`,
      errorCode: String(status),
      message: expect.any(String),
    });
    expect(response.headers.get("x-request-id")).not.toBeNull();
  });

  test("a key without the scope, of another account or of the other mode", async () => {
    const { key: reader } = await createKey(api, account.id, "links:read");
    const created = await ask({
      signature: reader,
      action: "shorturl",
      url: OZH.url,
      keyword: "x",
    });
    expect(created).toMatchObject({ status: 403, body: { code: "error:forbidden" } });
    const { key: stranger } = await createAccount(api, "free");
    const { key: tester } = await createKey(api, account.id, "links:read", { type: "test" });
    for (const signature of [stranger, tester])
      expect((await ask({ signature, action: "expand", shorturl: "ozh" })).status).toBe(404);
  });

  test("a body that is no form, or too large", async () => {
    const query = url({ signature: account.key, format: "json", action: "version" });
    const post = (body: string, type: string) =>
      fetch(query, { method: "POST", body, headers: { "content-type": type } });
    expect((await post("{}", "application/json")).status).toBe(400);
    expect((await post("--x", "multipart/form-data; boundary=y")).status).toBe(400);
    const large = await post(`a=${"a".repeat(70_000)}`, "application/x-www-form-urlencoded");
    expect(large.status).toBe(413);
    expect((await fetch(query, { method: "DELETE" })).status).toBe(405);
  });
});

test("calls count against the limits of the key's account, and refused ones against the address", async () => {
  const limited = await createAccount(api, "enterprise", { minute: 1 });
  const first = await ask({ signature: limited.key, action: "expand", shorturl: "none" });
  expect([first.status, first.headers.get("x-ratelimit-remaining")]).toEqual([404, "0"]);
  const second = await ask({ signature: limited.key, action: "expand", shorturl: "none" });
  expect(second).toMatchObject({ status: 429, body: { code: "error:rate_limited" } });
  expect(Number(second.headers.get("retry-after"))).toBeGreaterThan(0);
});

test("a repeated creation with an Idempotency-Key gets the first link", async () => {
  const headers = { "idempotency-key": "yourls-once" };
  const fields = { signature: account.key, format: "json", action: "shorturl", keyword: "once" };
  const create = () => call(url({ ...fields, url: "https://example.com/once" }), { headers });
  const [first, repeated] = [await create(), await create()];
  expect(repeated.body).toEqual(first.body);
  expect(repeated.headers.get("idempotent-replayed")).toBe("true");
});

test("what it creates is a link of /v1, and nothing more", async () => {
  const { body } = await api.send("/v1/links/lookup?alias=ozh", { key: account.key });
  const { original_url, title, alias } = linkSchema.parse(body);
  expect({ url: original_url, title, keyword: alias }).toEqual(OZH);
});
