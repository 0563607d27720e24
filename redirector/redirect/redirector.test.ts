/** Goal: a request is redirected as its link says, and is one click with all that it tells. */
import { describe, expect, test } from "bun:test";

import type { ActiveLink } from "../../shared/contracts/link-record.ts";
import {
  FORM,
  headerIn,
  LINK,
  locationIn,
  TestRedirector,
} from "../../test/harness/test-redirector.ts";

const HOST = "go.example.com";

const SECRET: ActiveLink = { ...LINK, alias: "secret", password_hash: "hash" };
const FORWARDING: ActiveLink = { ...LINK, alias: "forwarding", forward_query: true };

describe("the status of a redirect", () => {
  const OF_LINK: ActiveLink = { ...LINK, extras: { redirect_status: 308 } };
  const OF_DOMAIN: ActiveLink = { ...LINK, domain: HOST };

  test("is 302 unless the link or its domain says otherwise, and the link's own comes first", async () => {
    const redirector = new TestRedirector(OF_LINK, { ...LINK, alias: "plain" }, OF_DOMAIN, {
      ...OF_DOMAIN,
      alias: "own",
      extras: { redirect_status: 302 },
    });
    redirector.settings.set(HOST, { redirect_status: 301 });
    expect(await redirector.statusOf("/abc")).toBe(308);
    expect(await redirector.statusOf("/plain")).toBe(302);
    expect(await redirector.statusOf("/abc", { host: HOST })).toBe(301);
    expect(await redirector.statusOf("/own", { host: HOST })).toBe(302);
    expect(redirector.clicks).toHaveLength(4);
  });

  test("is that of the domain also for a cached link whose domain has not been read", async () => {
    const redirector = new TestRedirector();
    redirector.isSlow = false;
    redirector.settings.set(HOST, { redirect_status: 307 });
    redirector.cache.put(OF_DOMAIN);
    expect(await redirector.statusOf("/abc", { host: HOST })).toBe(307);
  });

  test("is 302 after a form: a browser would post the password on", async () => {
    const redirector = new TestRedirector({ ...OF_LINK, password_hash: "hash" });
    expect((await redirector.post("/abc", "password=right")).status).toBe(302);
  });
});

test("a method that only reads is named where another one is refused", async () => {
  const refused = await new TestRedirector().request("/abc", { method: "DELETE" });
  expect([refused.status, headerIn(refused, "allow")]).toEqual([405, "GET, HEAD"]);
});

describe("a click", () => {
  test("is one GET with all of its fields; the second is served from the cache, at once", async () => {
    const redirector = new TestRedirector();
    const fields = {
      "user-agent": "agent",
      referer: "https://example.org/ü",
      "accept-language": "de",
      "x-forwarded-for": "198.51.100.7",
      "sec-purpose": "prefetch;prerender",
      dnt: "1",
    };
    expect(await redirector.locationOf("/abc?utm_source=x", { fields })).toBe(LINK.destination);
    expect(redirector.clicks).toEqual([
      {
        time: expect.any(Number),
        linkId: LINK.link_id,
        accountId: LINK.account_id,
        mode: "test",
        prefetch: true,
        embedded: false,
        scanned: false,
        privacy: true,
        address: "198.51.100.7",
        host: "sho.rt",
        userAgent: "agent",
        referrer: "https://example.org/ü",
        language: "de",
        query: "utm_source=x",
      },
    ]);
    redirector.atOnce("/abc", { peer: "203.0.113.5" });
    const second = { address: "203.0.113.5", prefetch: false, privacy: false };
    expect(redirector.clicks[1]).toMatchObject(second);
    expect(redirector.fetched).toEqual(["/abc"]);
  });

  test("has the UTM parameters that its destination was sent before those of the short URL", async () => {
    const utm = "utm_source=newsletter&utm_medium=email";
    const redirector = new TestRedirector(LINK, {
      ...LINK,
      alias: "tagged",
      utm,
      extras: { starts_at: 0 },
    });
    for (const path of ["/tagged", "/tagged?utm_source=own&utm_term=own", "/abc?utm_source=own"])
      expect(await redirector.locationOf(path)).toBe(LINK.destination);
    const queries = redirector.clicks.map(({ query }) => query);
    expect(queries.map((query) => new URLSearchParams(query).get("utm_source"))).toEqual([
      "newsletter",
      "newsletter",
      "own",
    ]);
    expect(queries[1]).toBe(`${utm}&utm_source=own&utm_term=own`);
  });

  test("on a rule has the UTM parameters that the rule's destination was sent", async () => {
    const urls = ["https://example.org/?utm_source=rule&a=1", "https://example.org/"];
    const rules = urls.map((url, i) => ({
      id: `0190a5a2-0000-7000-8000-00000000000${i}`,
      url,
      conditions: [{ type: "query" as const, name: `rule${i}` }],
    }));
    const redirector = new TestRedirector({ ...LINK, utm: "utm_source=link", extras: { rules } });
    for (const path of ["/abc?rule0", "/abc?rule1", "/abc?none"]) await redirector.request(path);
    expect(redirector.clicks.map(({ query }) => query)).toEqual([
      "utm_source=rule&rule0",
      "rule1",
      "utm_source=link&none",
    ]);
  });
});

describe("the query", () => {
  test("that is too long to be forwarded is 414, and no click", async () => {
    const redirector = new TestRedirector(LINK, FORWARDING, { ...SECRET, forward_query: true });
    const long = "ü".repeat(3_000);
    for (const method of ["GET", "HEAD"])
      expect(await redirector.statusOf(`/forwarding?x=${long}`, { method })).toBe(414);
    expect((await redirector.post(`/secret?x=${long}`, "password=right")).status).toBe(414);
    expect(redirector.clicks).toEqual([]);
    expect(await redirector.statusOf(`/forwarding?x=1`)).toBe(302);
    // A link without forward_query ignores the query.
    expect(await redirector.statusOf(`/abc?x=${long}`)).toBe(302);
    expect(redirector.clicks).toHaveLength(2);
  });

  test("of a QR code has a mark that is neither forwarded nor part of the click's query", async () => {
    const redirector = new TestRedirector(LINK, FORWARDING);
    for (const [path, search] of [
      ["/forwarding?_qr", ""],
      ["/forwarding?a=1&_qr&b=2", "?a=1&b=2"],
      ["/forwarding?_qr=1", "?_qr=1"],
      ["/abc?_qr&utm_source=x", ""],
    ] as const)
      expect(await redirector.locationOf(path)).toBe(LINK.destination + search);
    expect(redirector.clicks.map(({ scanned, query }) => [scanned, query])).toEqual([
      [true, ""],
      [true, "a=1&b=2"],
      [false, "_qr=1"],
      [true, "utm_source=x"],
    ]);
  });

  test("of a QR code shows its mark to no password and no rule, and a scan stays one", async () => {
    const rules = [
      {
        id: "0190a5a2-0000-7000-8000-000000000009",
        conditions: [{ type: "query" as const, name: "_qr" }],
        url: "https://example.com/marked",
      },
    ];
    const redirector = new TestRedirector({ ...LINK, extras: { rules } }, SECRET);
    expect(await redirector.locationOf("/abc?_qr")).toBe(LINK.destination);
    expect(await redirector.statusOf("/secret?_qr")).toBe(401);
    expect(await redirector.statusOf("/abc+?_qr")).toBe(200);
    expect(locationIn(await redirector.post("/secret?_qr", "password=right"))).toBe(
      LINK.destination,
    );
    expect(redirector.clicks.map(({ scanned }) => scanned)).toEqual([true, true]);
  });
});

test("an agent gets the card of a link with its short URL, which is no click", async () => {
  const redirector = new TestRedirector({ ...LINK, extras: { preview: { title: "Card" } } });
  const fields = { "user-agent": "Twitterbot/1.0" };
  expect(await redirector.pageOf("/abc/", { fields })).toContain('content="https://sho.rt/abc"');
  // Beyond what a click keeps of it, a user agent says nothing.
  const late = { "user-agent": `${"x ".repeat(300)}Twitterbot/1.0` };
  expect(await redirector.statusOf("/abc", { fields: late })).toBe(302);
  expect(redirector.clicks).toHaveLength(1);
});

test("a redirect does not ask for the visitor's language, and every page is in it", async () => {
  const limit = { id: LINK.account_id, max: 5, before: 0, stored: 0, humans: true as const };
  const redirector = new TestRedirector(LINK, SECRET, {
    ...LINK,
    alias: "limited",
    extras: { limit },
  });
  const language = { "accept-language": "de-AT" };
  const agent = { ...language, "user-agent": "curl/8.0" };
  const form = { ...language, ...FORM };
  await redirector.request("/abc", { fields: language });
  await redirector.request("/limited", { fields: agent });
  redirector.takeClick = async () => Promise.resolve("taken");
  await redirector.request("/limited", { fields: agent });
  await redirector.post("/secret", "password=right", { fields: form });
  expect([redirector.clicks.length, redirector.languagesAsked]).toEqual([4, 0]);
  redirector.takeClick = async () => Promise.resolve("busy");
  for (const [path, request] of [
    ["/nothing", { fields: language }],
    ["/", { fields: language }],
    ["/%zz", { fields: language }],
    ["/abc+", { fields: language }],
    ["/abc", { method: "PUT", fields: language }],
    ["/limited", { fields: agent }],
    ["/secret", { fields: language }],
    ["/secret", { method: "POST", body: "password=wrong", fields: form }],
  ] as const) {
    const response = await redirector.request(path, request);
    expect([path, headerIn(response, "content-language")]).toEqual([path, "de"]);
  }
});

test("responses after an await are those decided, whatever other requests did meanwhile", async () => {
  const links = Array.from({ length: 50 }, (_, i) => ({
    ...LINK,
    alias: `a${i}`,
    destination: `https://example.com/${i}`,
    forward_query: i % 2 === 0,
  }));
  const redirector = new TestRedirector(...links);
  const responses = await Promise.all(
    links.map(async ({ alias }) => redirector.request(`/${alias}?q`)),
  );
  expect(responses.map(locationIn)).toEqual(
    links.map(({ destination }, i) => destination + (i % 2 === 0 ? "?q" : "")),
  );
});
