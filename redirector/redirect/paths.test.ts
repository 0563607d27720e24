/**
 * Goal: a path leads to the link that its writer meant, however the alias is spelled, and whatever
 * text or software has glued to it.
 */
import { describe, expect, test } from "bun:test";

import type { ActiveLink } from "../../shared/contracts/link-record.ts";
import {
  headerIn,
  LINK,
  locationIn,
  pageIn,
  TestRedirector,
} from "../../test/harness/test-redirector.ts";

const HOST = "go.example.com";

/** One whose store is read at once. */
function quick(...links: ActiveLink[]): TestRedirector {
  const redirector = new TestRedirector(...links);
  redirector.isSlow = false;
  return redirector;
}

describe("links of the store that are not cached", () => {
  test.each(["/abc", "/abc/", "/%61bc"])("%s is redirected at once", (path) => {
    const redirector = quick();
    expect(locationIn(redirector.atOnce(path))).toBe(LINK.destination);
    expect(redirector.fetched).toEqual([]);
    expect(redirector.clicks).toHaveLength(1);
  });

  test("of a domain are redirected at once, in the case that the domain wants", () => {
    const redirector = quick(
      { ...LINK, domain: HOST },
      { ...LINK, domain: HOST, alias: "\u00e9t\u00e9/\u03c3" },
    );
    redirector.settings.set(HOST, { fold: "all" });
    const paths = "/ABC /\u00c9T\u00c9/\u03a3 /%C3%89t%C3%A9/%CE%A3 /E\u0301te\u0301/%cf%83".split(
      " ",
    );
    for (const path of paths)
      expect([path, locationIn(redirector.atOnce(path, { host: HOST }))]).toEqual([
        path,
        LINK.destination,
      ]);
    expect(redirector.fetched).toEqual([]);
  });

  test("have a page about them at once, with what is not cached", () => {
    const redirector = quick({ ...LINK, host_changed_at: Date.parse("2020-02-03") });
    expect(pageIn(redirector.atOnce("/abc+"))).toContain("2020-02-03");
  });
});

describe("a path that is not a cached alias byte by byte", () => {
  test.each(["/abc/", "/%61bc", "/ab%63/"])("%s is the link's", async (path) => {
    const redirector = new TestRedirector();
    expect(await redirector.locationOf(path)).toBe(LINK.destination);
    // The second time it is cached.
    expect(locationIn(redirector.atOnce(path))).toBe(LINK.destination);
    expect(redirector.fetched).toEqual(["/abc"]);
    expect(redirector.clicks).toHaveLength(2);
  });

  test.each(["/%zz", "/%00", "/../abc"])("%s is malformed, and not looked up", async (path) => {
    const redirector = new TestRedirector();
    expect(await redirector.statusOf(path)).toBe(400);
    expect(redirector.fetched).toEqual([]);
  });
});

/** What texts and software leave at a short URL. */
const GLUED = String.raw`
  /abc. /abc, /abc) /abc). /abc" /abc%22 /abc%22%3Eclick%3C/a%3E /abc> /abc%3E /abc' /abc; /abc:
  /abc! /abc... /abc%E2%80%A6 /abc** /abc= /abc%20 /abc%20click%20here /abc%0A /abc%C2%A0
  /abc%E2%80%8B /abc%E2%80%9D /abc's /abc%E2%80%99s /abc%EF%BF%BC /abc%2520 /abc&utm_source=x
  /abc&amp;utm_source=x /abc%3Futm_source=x /abc%23top /abc\n //abc ///abc //abc. /%20abc
  /%E2%80%8Babc /(abc) /%E2%80%9Cabc%E2%80%9D /abc// /abc/. /abc/) /abc/%20 /abc/&utm_source=x
  /abc|sho.rt/abc> /abc%7Csho.rt/abc /abc%EF%BC%88%E5%88%86%E4%BA%AB /abc%E3%80%8A%E4%B8%80%E3%80%8B%E4%BA%9A
  /abc%E3%80%82%E6%AC%A2%E8%BF%8E /abc%EF%BC%8Cdef`;

describe("what is glued to a short URL", () => {
  test.each([...GLUED.trim().split(/\s+/), "/abc\u2026", "/abc\u200b"])(
    "%s leads where the alias does, after one look-up",
    async (path) => {
      const redirector = new TestRedirector();
      expect(await redirector.locationOf(path)).toBe(LINK.destination);
      expect(redirector.fetched).toEqual(["/abc"]);
      expect(redirector.clicks).toHaveLength(1);
    },
  );

  test.each([
    ..."/abc.html /abc%C3%9F /abc%2561 /abc%252Ddef /abc,def /abc/def /.abc /-abc".split(" "),
    "/abc%F0%9F%98%80",
    "/abc%E7%9A%84",
    "/abc%EF%BC%8Ddef",
    "/abc%EF%BC%BFdef",
    `/${"a".repeat(65)}.`,
    "/.",
    "/%20",
  ])("%s has something else than that, and is not found", async (path) => {
    const redirector = new TestRedirector();
    expect(await redirector.statusOf(path)).toBe(404);
    expect(redirector.clicks).toEqual([]);
  });

  test("is nothing to an alias as it is written, and to a path that its link forwards", async () => {
    const redirector = new TestRedirector(
      { ...LINK, extras: { forward_path: "append" } },
      { ...LINK, alias: "abc-" },
    );
    expect(await redirector.locationOf("/abc/)")).toBe(`${LINK.destination}/)`);
    for (const path of ["/abc)/", "//abc", "/abc-"])
      expect([path, await redirector.locationOf(path)]).toEqual([path, LINK.destination]);
    expect(redirector.fetched).toEqual(["/abc", "/abc-"]);
  });

  test("is not counted as a part of an unknown alias", async () => {
    const redirector = new TestRedirector();
    redirector.settings.set(HOST, { fold: "all" });
    expect(await redirector.statusOf("/nothing).", { host: HOST })).toBe(404);
    expect(redirector.failures).toEqual([["unknown_alias", HOST, "nothing"]]);
  });

  test("is no part of a cookie or of a page", async () => {
    const redirector = new TestRedirector({ ...LINK, password_hash: "hash" });
    const response = await redirector.post("/abc&;Domain=example.com", "password=right");
    expect(headerIn(response, "set-cookie")).toContain("; Path=/abc; ");
  });
});

describe("a path beyond an alias", () => {
  const forwarding: ActiveLink = { ...LINK, extras: { forward_path: "append" } };
  const LONGER = "https://example.com/longer";

  const longer = (alias: string): ActiveLink => ({ ...LINK, alias, destination: LONGER });

  test("is forwarded at once, unless the store is slow", async () => {
    const redirector = new TestRedirector(forwarding);
    expect(await redirector.locationOf("/abc/d/e")).toBe("https://example.com/a/d/e");
    expect(redirector.fetched).toEqual(["/abc/d/e", "/abc"]);
    redirector.isSlow = false;
    expect(locationIn(redirector.atOnce("/abc/f"))).toBe("https://example.com/a/f");
    expect(redirector.fetched).toHaveLength(2);
    expect(redirector.clicks).toHaveLength(2);
  });

  test("is appended to the URLs of rules and arms as well", async () => {
    const id = "0190a5a2-0000-7000-8000-000000000009";
    const rules = [
      {
        id,
        url: "https://example.com/rule/",
        conditions: [{ type: "query" as const, name: "r" }],
      },
    ];
    const split = {
      key: 1,
      arms: [{ id, url: "https://b.example/?x#y", weight: 99 }],
    };
    const append = { forward_path: "append" } as const;
    const ruled = { ...LINK, extras: { ...append, rules } };
    const redirector = new TestRedirector(ruled, {
      ...LINK,
      alias: "divided",
      destination: "https://b.example/?x#y",
      extras: { ...append, split },
    });
    expect(await redirector.locationOf("/abc/d?r")).toBe("https://example.com/rule/d");
    expect(await redirector.locationOf("/divided/d")).toBe("https://b.example/d?x#y");
  });

  test("is an alias of its own before it is forwarded, however it is written", async () => {
    const redirector = new TestRedirector(forwarding, longer("abc/r\u00e9"), longer("\u{1f388}"));
    const paths = "/abc/r\u00e9 /abc/r%C3%A9 /abc/re%cc%81/ /abc/r%C3%A9). /%F0%9F%8E%88".split(
      " ",
    );
    for (redirector.isSlow of [true, false])
      for (const path of paths)
        expect([path, await redirector.locationOf(path)]).toEqual([path, LONGER]);
    expect(await redirector.statusOf("/abc%2Fr%C3%A9")).toBe(404);
    expect(await redirector.locationOf("/abc/r%C3%A9/more")).toBe(
      `${LINK.destination}/r%C3%A9/more`,
    );
  });

  test("is forwarded again once its own link is gone", () => {
    const redirector = new TestRedirector(forwarding);
    redirector.isSlow = false;
    redirector.cache.put({ state: "deleted", version: 2, domain: "", alias: "abc/d" });
    expect(locationIn(redirector.atOnce("/abc/d"))).toBe("https://example.com/a/d");
  });

  test("with an own link has that one's password, card and page, by its whole path", async () => {
    const own: ActiveLink = { ...LINK, alias: "abc/r\u00e9" };
    const locked = new TestRedirector(forwarding, { ...own, password_hash: "hash" });
    const unlocked = await locked.post("/abc/r\u00e9/", "password=right");
    expect(headerIn(unlocked, "set-cookie")).toContain("; Path=/abc/r%C3%A9; ");
    const carded = { ...own, extras: { preview: { title: "Card" } } };
    const redirector = new TestRedirector(forwarding, carded);
    const fields = { "user-agent": "Twitterbot/1.0" };
    expect(await redirector.pageOf("/abc/re%CC%81", { fields })).toContain(
      'content="https://sho.rt/abc/re%CC%81"',
    );
    expect(await redirector.pageOf("/abc/r%C3%A9+")).toContain('href="/abc/r%C3%A9"');
  });

  test.each([
    ["/M\u00fcnchen", "/M%C3%BCnchen"],
    ["/M%FCnchen/%fc", "/M%FCnchen/%fc"],
    ["/a|b{c}^`", "/a%7Cb%7Bc%7D%5E%60"],
    ["/a;b=c/(d)!*'@:", "/a;b=c/(d)!*'@:"],
    ["/#a", "/%23a"],
  ])("keeps its bytes: %s leads to %s", async (suffix, expected) => {
    const redirector = new TestRedirector(forwarding);
    expect(await redirector.locationOf(`/abc${suffix}`)).toBe(`https://example.com/a${expected}`);
  });

  test("of a cached link that does not forward it is 404 once the log has no link there", async () => {
    const redirector = new TestRedirector();
    await redirector.request("/abc");
    expect(await redirector.statusOf("/abc/d")).toBe(404);
    expect(redirector.fetched).toEqual(["/abc", "/abc/d", "/abc"]);
  });
});

describe("the page about a link", () => {
  test("reads the log, and is 503 without it", async () => {
    const redirector = new TestRedirector({ ...LINK, host_changed_at: Date.parse("2020-02-03") });
    await redirector.request("/abc");
    expect(await redirector.pageOf("/abc+")).toContain("2020-02-03");
    expect(redirector.fetched).toEqual(["/abc", "/abc"]);
    redirector.isBroken = true;
    expect(await redirector.statusOf("/abc+")).toBe(503);
    expect(redirector.clicks).toHaveLength(1);
  });

  test.each([
    ["the preview's title", { title: "<Card>" }, "&lt;Card&gt;"],
    ["no title without a preview", undefined, undefined],
  ])("shows %s, and never the link's own", async (_what, preview, shown) => {
    // A message as an API process of another version writes it.
    const message = { ...LINK, title: "Internal", extras: preview && { preview } };
    const page = await new TestRedirector(message as ActiveLink).pageOf("/abc+");
    expect(page).not.toContain("Internal");
    expect(/<dt>Title<\/dt>\n<dd>(.*)<\/dd>/.exec(page)?.[1]).toBe(shown);
  });

  test("is not there for links of a host without them", async () => {
    const redirector = new TestRedirector({ ...LINK, domain: "off.example.com" });
    expect(await redirector.statusOf("/abc+", { host: "OFF.example.com:443" })).toBe(404);
    // What the domain wants shown instead, and no link.
    expect(redirector.fetched).toEqual(["off.example.com/@domain"]);
    expect(await redirector.statusOf("/abc", { host: "off.example.com" })).toBe(302);
  });
});
