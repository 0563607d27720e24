import { beforeEach, describe, expect, spyOn, test } from "bun:test";

import fc from "fast-check";

import { sliceToString } from "../../shared/bytes.ts";
import type { ClickLimit } from "../../shared/contracts/click-limits.ts";
import { type Click, decodeClick } from "../../shared/contracts/click-record.ts";
import type { ActiveLink, LinkRecord } from "../../shared/contracts/link-record.ts";
import {
  DOMAIN_ALIAS,
  domainNotice,
  type DomainSettings,
  type TakedownList,
  takedownNotice,
} from "../../shared/contracts/notices.ts";
import { encodeClick } from "../../test/harness/encode-segment.ts";
import { casesOf } from "../../test/harness/property-runs.ts";
import { redirectorConfig } from "../../test/harness/redirector-config.ts";
import { DomainSettingsCache } from "../cache/domain-settings.ts";
import { LinkCache } from "../cache/link-cache.ts";
import { Takedowns } from "../cache/takedowns.ts";
import { RequestHeadParser } from "../http/request-head-parser.ts";
import type { RequestHead } from "../http/request.ts";
import type { RedirectorResponse } from "../http/response.ts";
import type { ClickOutcome } from "../limits/holdings.ts";
import { ErrorPages, type LanguagePages } from "../pages/error-pages.ts";
import { PasswordCheck } from "../passwords/password.ts";
import { Redirector } from "./redirector.ts";

const link: ActiveLink = {
  state: "active",
  version: 1,
  domain: "",
  alias: "abc",
  link_id: "0190a5a2-0000-7000-8000-000000000001",
  account_id: "0190a5a2-0000-7000-8000-000000000002",
  mode: "test",
  destination: "https://example.com/a",
  expires_at: null,
  password_hash: null,
  forward_query: false,
};

let clicks: Click[];
let failures: string[][];
let fetched: string[];
let inStream: ActiveLink[];
let broken: boolean;
/** Whether reading the store could take long. */
let isSlow: boolean;
/** Whether the process is behind. */
let isBehind = false;
/** Every fetch waits for this. */
let fetchGate: Promise<void>;
/** What the limits of links leave. */
let takeClick: (limit: string) => ClickOutcome | Promise<ClickOutcome> = () => "taken";
let cache: LinkCache;
let settingsInStream: Map<string, DomainSettings>;
let takedowns: Takedowns;
/** How often the language of a visitor was asked for. */
let languagesAsked = 0;
const pages = new (class extends ErrorPages {
  override of(head: RequestHead): LanguagePages {
    languagesAsked++;
    return super.of(head);
  }
})();

const CONFIG = redirectorConfig({
  TRUSTED_PROXIES: ["127.0.0.1"],
  ABOUT_PAGE_OFF_HOSTS: ["off.example.com"],
  LINK_UNLOCK_SECRET: "a secret of the test",
});

/** What the store has, links and notices. */
function recordOf(domain: string, alias: string): LinkRecord | undefined {
  const settings = alias === DOMAIN_ALIAS ? settingsInStream.get(domain) : undefined;
  if (settings !== undefined) return domainNotice(domain, settings, link.account_id);
  return inStream.find((known) => known.domain === domain && known.alias === alias);
}

/** Creates a handler whose links are all in the store, and none is cached. */
function createTestHandler() {
  cache = new LinkCache(1024 ** 2);
  const passwords = new PasswordCheck();
  spyOn(passwords, "check").mockImplementation(async (_link, { password }) =>
    password === "right" ? "right" : "wrong",
  );
  const redirector = new Redirector(CONFIG, {
    cache,
    links: {
      find(domain, alias) {
        if (isSlow) return undefined;
        const found = recordOf(domain, alias);
        if (found?.state === "active") cache.put(found);
        return found ?? null;
      },
      async fetch(domain, alias) {
        fetched.push(`${domain}/${alias}`);
        await fetchGate;
        if (broken) throw new Error("The store lacks links.");
        const found = recordOf(domain, alias);
        if (found?.state === "active") cache.put(found);
        return found;
      },
    },
    domains: new DomainSettingsCache(),
    takedowns,
    journal: {
      append(click) {
        const bytes = encodeClick(click);
        const decoded = decodeClick(bytes, { start: 0, end: bytes.length });
        if (decoded !== undefined) clicks.push(decoded);
      },
      commit: () => undefined,
    },
    passwords,
    isBehind: () => isBehind,
    limits: { take: (limit) => takeClick(limit.id), look: () => false, isExhausted: () => false },
    failures: {
      countLink: ({ reason, mode, domain }) => void failures.push([reason, mode, domain]),
      countUnknownAlias: (domain, alias) => void failures.push(["unknown_alias", domain, alias]),
    },
    pages,
    locate: () => undefined,
  });
  return (
    path: string,
    {
      method = "GET",
      host = "sho.rt",
      fields = {},
      body = "",
      peer = "127.0.0.1",
    }: Partial<RequestOptions> = {},
  ): RedirectorResponse | Promise<RedirectorResponse> => {
    const lines = Object.entries({ host, "content-length": body.length, ...fields });
    const text = `${method} ${path} HTTP/1.1\r\n${lines.map(([n, v]) => `${n}: ${v}\r\n`).join("")}\r\n`;
    const bytes = Buffer.from(text + body);
    const parser = new RequestHeadParser();
    const { head } = parser;
    expect(parser.parse(bytes, 0)).toEqual({ kind: "complete" });
    const form = { bytes, start: head.length, end: bytes.length };
    return redirector.handle({ head, body: form, now: Date.now(), peer });
  };
}

/** The referrer in the form of a page, as a browser posts it. */
const postedBy = (response: RedirectorResponse): string => {
  const page = "body" in response ? response.body.toString() : "";
  const value = / name="referrer" type="hidden" value="([^"]*)"/.exec(page)?.[1];
  return value === undefined
    ? ""
    : `&referrer=${encodeURIComponent(value.replaceAll("&amp;", "&"))}`;
};

/** Responds without waiting for anything, or fails. */
function atOnce(
  request: ReturnType<typeof createTestHandler>,
  ...args: Parameters<typeof request>
): RedirectorResponse {
  const response = request(...args);
  if (response instanceof Promise) throw new Error("It waits.");
  return response;
}

describe("links of the store that are not cached", () => {
  const HOST = "go.example.com";
  beforeEach(() => (isSlow = false));

  test.each(["/abc", "/abc/", "/%61bc"])("%s is redirected at once", (path) => {
    expect(locationOf(atOnce(createTestHandler(), path))).toBe("https://example.com/a");
    expect(fetched).toEqual([]);
    expect(clicks).toHaveLength(1);
  });

  test("of a domain are redirected at once, in the case that the domain wants", () => {
    const request = createTestHandler();
    inStream = [{ ...link, domain: HOST }];
    settingsInStream.set(HOST, { fold: "all", not_found_url: "https://example.com/not-found" });
    expect(locationOf(atOnce(request, "/ABC", { host: HOST }))).toBe("https://example.com/a");
    inStream = [{ ...link, domain: HOST, alias: "\u00e9t\u00e9/\u03c3" }];
    for (const path of [
      "/\u00c9T\u00c9/\u03a3",
      "/%C3%89t%C3%A9/%CE%A3",
      "/E\u0301te\u0301/%cf%83",
    ])
      expect(locationOf(atOnce(request, path, { host: HOST }))).toBe("https://example.com/a");
    expect(fetched).toEqual([]);
  });

  test("have a page about them at once, with what is not cached", () => {
    const request = createTestHandler();
    inStream = [{ ...link, host_changed_at: Date.parse("2020-02-03") }];
    const response = atOnce(request, "/abc+");
    expect("body" in response ? response.body.toString() : "").toContain("2020-02-03");
  });

  test("answer what their domain wants for an alias that it does not have, once the log has none", async () => {
    const request = createTestHandler();
    settingsInStream.set(HOST, { not_found_url: "https://example.com/not-found" });
    expect(locationOf(await request("/nothing", { host: HOST }))).toBe(
      "https://example.com/not-found",
    );
    expect(fetched).toEqual([`${HOST}/nothing`]);
  });
});

describe("a path that is not a cached alias byte by byte", () => {
  test.each(["/abc/", "/%61bc", "/ab%63/"])("%s is the link's", async (path) => {
    const request = createTestHandler();
    expect(locationOf(await request(path))).toBe("https://example.com/a");
    // The second time it is cached: the handler responds at once.
    const response = request(path);
    expect(response instanceof Promise ? undefined : locationOf(response)).toBe(
      "https://example.com/a",
    );
    expect(fetched).toEqual(["/abc"]);
    expect(clicks).toHaveLength(2);
  });

  test.each(["/%zz", "/%00", "/../abc"])("%s is malformed, and not looked up", async (path) => {
    const response = await createTestHandler()(path);
    expect(response.status).toBe(400);
    expect(fetched).toEqual([]);
  });
});

describe("what is glued to a short URL", () => {
  test.each([
    "/abc.",
    "/abc,",
    "/abc)",
    "/abc).",
    '/abc"',
    "/abc%22",
    "/abc%22%3Eclick%3C/a%3E",
    "/abc>",
    "/abc%3E",
    "/abc'",
    "/abc;",
    "/abc:",
    "/abc!",
    "/abc...",
    "/abc%E2%80%A6",
    "/abc\u2026",
    "/abc**",
    "/abc=",
    "/abc%20",
    "/abc%20click%20here",
    "/abc%0A",
    "/abc%C2%A0",
    "/abc%E2%80%8B",
    "/abc\u200b",
    "/abc%E2%80%9D",
    "/abc's",
    "/abc%E2%80%99s",
    "/abc%EF%BF%BC",
    "/abc%2520",
    "/abc&utm_source=x",
    "/abc&amp;utm_source=x",
    "/abc%3Futm_source=x",
    "/abc%23top",
    "/abc\\n",
    "//abc",
    "///abc",
    "//abc.",
    "/%20abc",
    "/%E2%80%8Babc",
    "/(abc)",
    "/%E2%80%9Cabc%E2%80%9D",
    "/abc//",
    "/abc/.",
    "/abc/)",
    "/abc/%20",
    "/abc/&utm_source=x",
  ])("%s leads where the alias does, after one look-up", async (path) => {
    const request = createTestHandler();
    expect(locationOf(await request(path))).toBe(link.destination);
    expect(fetched).toEqual(["/abc"]);
    expect(clicks).toHaveLength(1);
  });

  test.each([
    "/abc.html",
    "/abc%C3%9F",
    "/abc%2561",
    "/abc%252Ddef",
    "/abc,def",
    "/abc/def",
    "/.abc",
    "/-abc",
    "/abc%F0%9F%98%80",
    `/${"a".repeat(65)}.`,
    "/.",
    "/%20",
  ])("%s has something else than that, and is not found", async (path) => {
    expect(statusOf(await createTestHandler()(path))).toBe(404);
    expect(clicks).toEqual([]);
  });

  test("is nothing to an alias as it is written, and to a path that its link forwards", async () => {
    inStream = [
      { ...link, extras: { forward_path: "append" } },
      { ...link, alias: "abc-" },
    ];
    const request = createTestHandler();
    expect(locationOf(await request("/abc/)"))).toBe(`${link.destination}/)`);
    expect(locationOf(await request("/abc)/"))).toBe(link.destination);
    expect(locationOf(await request("//abc"))).toBe(link.destination);
    expect(locationOf(await request("/abc-"))).toBe(link.destination);
    expect(fetched).toEqual(["/abc", "/abc-"]);
  });

  test("is not counted as a part of an unknown alias", async () => {
    const request = createTestHandler();
    settingsInStream.set("go.example.com", { fold: "all" });
    expect(statusOf(await request("/nothing).", { host: "go.example.com" }))).toBe(404);
    expect(failures).toEqual([["unknown_alias", "go.example.com", "nothing"]]);
  });

  test("is no part of a cookie or of a page", async () => {
    inStream = [{ ...link, password_hash: "hash" }];
    const post = { method: "POST", body: "password=right", fields: FORM };
    const response = await createTestHandler()("/abc&;Domain=example.com", post);
    expect("headers" in response ? response.headers["set-cookie"] : "").toContain("; Path=/abc; ");
  });
});

describe("the status of a redirect", () => {
  const OF_LINK: ActiveLink = { ...link, extras: { redirect_status: 308 } };
  const OF_DOMAIN: ActiveLink = { ...link, domain: "go.example.com" };

  test("is 302 unless the link or its domain says otherwise, and the link's own comes first", async () => {
    settingsInStream.set("go.example.com", { redirect_status: 301 });
    inStream = [
      OF_LINK,
      { ...link, alias: "plain" },
      OF_DOMAIN,
      { ...OF_DOMAIN, alias: "own", extras: { redirect_status: 302 } },
    ];
    const request = createTestHandler();
    const host = "go.example.com";
    expect(statusOf(await request("/abc"))).toBe(308);
    expect(statusOf(await request("/plain"))).toBe(302);
    expect(statusOf(await request("/abc", { host }))).toBe(301);
    expect(statusOf(await request("/own", { host }))).toBe(302);
    expect(clicks).toHaveLength(4);
  });

  test("is that of the domain also for a cached link whose domain has not been read", async () => {
    isSlow = false;
    settingsInStream.set("go.example.com", { redirect_status: 307 });
    const request = createTestHandler();
    cache.put(OF_DOMAIN);
    expect(statusOf(await request("/abc", { host: "go.example.com" }))).toBe(307);
  });

  test("is 302 after a form: a browser would post the password on", async () => {
    inStream = [{ ...OF_LINK, password_hash: "hash" }];
    const post = { method: "POST", body: "password=right", fields: FORM };
    expect(statusOf(await createTestHandler()("/abc", post))).toBe(302);
  });
});

describe("a path beyond an alias", () => {
  const forwarding: ActiveLink = { ...link, extras: { forward_path: "append" } };
  const LONGER = "https://example.com/longer";

  test("is forwarded at once, unless the store is slow", async () => {
    const request = createTestHandler();
    inStream = [forwarding];
    expect(locationOf(await request("/abc/d/e"))).toBe("https://example.com/a/d/e");
    expect(fetched).toEqual(["/abc/d/e", "/abc"]);
    isSlow = false;
    expect(locationOf(atOnce(request, "/abc/f"))).toBe("https://example.com/a/f");
    expect(fetched).toHaveLength(2);
    expect(clicks).toHaveLength(2);
  });

  test("is an alias of its own before it is forwarded, however it is written", async () => {
    const longer = (alias: string): ActiveLink => ({ ...link, alias, destination: LONGER });
    inStream = [forwarding, longer("abc/r\u00e9"), longer("\u{1f388}")];
    const request = createTestHandler();
    for (isSlow of [true, false])
      for (const path of [
        "/abc/r\u00e9",
        "/abc/r%C3%A9",
        "/abc/re%cc%81/",
        "/abc/r%C3%A9).",
        "/%F0%9F%8E%88",
      ])
        expect([path, locationOf(await request(path))]).toEqual([path, LONGER]);
    expect(statusOf(await request("/abc%2Fr%C3%A9"))).toBe(404);
    expect(locationOf(await request("/abc/r%C3%A9/more"))).toBe(`${link.destination}/r%C3%A9/more`);
  });

  test("is forwarded again once its own link is gone", () => {
    isSlow = false;
    inStream = [forwarding];
    const request = createTestHandler();
    cache.put({ state: "deleted", version: 2, domain: "", alias: "abc/d" });
    expect(locationOf(atOnce(request, "/abc/d"))).toBe("https://example.com/a/d");
  });

  test("with an own link has that one's password, card and page, by its whole path", async () => {
    const own: ActiveLink = { ...link, alias: "abc/r\u00e9" };
    inStream = [forwarding, { ...own, password_hash: "hash" }];
    const post = { method: "POST", body: "password=right", fields: FORM };
    const unlocked = await createTestHandler()("/abc/r\u00e9/", post);
    expect("headers" in unlocked ? unlocked.headers["set-cookie"] : "").toContain(
      "; Path=/abc/r%C3%A9; ",
    );
    inStream = [forwarding, { ...own, extras: { preview: { title: "Card" } } }];
    const request = createTestHandler();
    const card = await request("/abc/re%CC%81", { fields: { "user-agent": "Twitterbot/1.0" } });
    expect("body" in card ? card.body.toString() : "").toContain(
      'content="https://sho.rt/abc/re%CC%81"',
    );
    const about = await request("/abc/r%C3%A9+");
    expect("body" in about ? about.body.toString() : "").toContain('href="/abc/r%C3%A9"');
  });

  test.each([
    ["/M\u00fcnchen", "/M%C3%BCnchen"],
    ["/M%FCnchen/%fc", "/M%FCnchen/%fc"],
    ["/a|b{c}^`", "/a%7Cb%7Bc%7D%5E%60"],
    ["/a;b=c/(d)!*'@:", "/a;b=c/(d)!*'@:"],
    ["/#a", "/%23a"],
  ])("keeps its bytes: %s leads to %s", async (suffix, expected) => {
    inStream = [forwarding];
    expect(locationOf(await createTestHandler()(`/abc${suffix}`))).toBe(
      `https://example.com/a${expected}`,
    );
  });

  test("of a cached link that does not forward it is 404 once the log has no link there", async () => {
    const request = createTestHandler();
    await request("/abc");
    expect(statusOf(await request("/abc/d"))).toBe(404);
    expect(fetched).toEqual(["/abc", "/abc/d", "/abc"]);
  });

  test("the page about a link reads the log, and is 503 without it", async () => {
    const request = createTestHandler();
    inStream = [{ ...link, host_changed_at: Date.parse("2020-02-03") }];
    await request("/abc");
    const response = await request("/abc+");
    expect("body" in response ? response.body.toString() : "").toContain("2020-02-03");
    expect(fetched).toEqual(["/abc", "/abc"]);
    broken = true;
    expect(statusOf(await request("/abc+"))).toBe(503);
    expect(clicks).toHaveLength(1);
  });

  test.each([
    ["the preview's title", { title: "<Card>" }, "&lt;Card&gt;"],
    ["no title without a preview", undefined, undefined],
  ])("the page about a link shows %s, and never the link's own", async (_what, preview, shown) => {
    const request = createTestHandler();
    // A message as an API process of another version writes it.
    const message = { ...link, title: "Internal", extras: preview && { preview } };
    inStream = [message as ActiveLink];
    const response = await request("/abc+");
    const body = "body" in response ? response.body.toString() : "";
    expect(body).not.toContain("Internal");
    expect(/<dt>Title<\/dt>\n<dd>(.*)<\/dd>/.exec(body)?.[1]).toBe(shown);
  });

  test("there is no page about links of a host without them", async () => {
    const request = createTestHandler();
    inStream = [{ ...link, domain: "off.example.com" }];
    expect(statusOf(await request("/abc+", { host: "OFF.example.com:443" }))).toBe(404);
    // What the domain wants shown instead, and no link.
    expect(fetched).toEqual(["off.example.com/@domain"]);
    expect(statusOf(await request("/abc", { host: "off.example.com" }))).toBe(302);
  });
});

test("an agent gets the card of a link with its short URL, which is no click", async () => {
  const request = createTestHandler();
  inStream = [{ ...link, extras: { preview: { title: "Card" } } }];
  const fields = { "user-agent": "Twitterbot/1.0" };
  const response = await request("/abc/", { fields });
  const html = "body" in response ? response.body.toString() : "";
  expect(html).toContain('content="https://sho.rt/abc"');
  // Beyond what a click keeps of it, a user agent says nothing.
  const late = { "user-agent": `${"x ".repeat(300)}Twitterbot/1.0` };
  expect(statusOf(await request("/abc", { fields: late }))).toBe(302);
  expect(clicks).toHaveLength(1);
});

type RequestOptions = {
  method: string;
  host: string;
  fields: Record<string, string>;
  body: string;
  peer: string;
};

function locationOf(response: RedirectorResponse): string | undefined {
  if (!("location" in response)) return response.headers["location"];
  return typeof response.location === "string"
    ? response.location
    : sliceToString(response.location);
}

const statusOf = (response: RedirectorResponse): number => response.status;

const cookieOf = (response: RedirectorResponse | undefined): string =>
  response === undefined || "location" in response ? "" : (response.headers["set-cookie"] ?? "");

const FORM = { "content-type": "application/x-www-form-urlencoded" };

beforeEach(() => {
  settingsInStream = new Map();
  takedowns = new Takedowns();
  failures = [];
  clicks = [];
  takeClick = () => "taken";
  fetched = [];
  inStream = [link];
  broken = false;
  isSlow = true;
  fetchGate = Promise.resolve();
});

/** The headers of a person who follows a link. */
const person = {
  "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0",
  "sec-fetch-dest": "document",
  "sec-fetch-mode": "navigate",
};

describe("the handler", () => {
  test("a GET is one click with all of its fields; the second is served from the cache, synchronously", async () => {
    const request = createTestHandler();
    const fields = {
      "user-agent": "agent",
      referer: "https://example.org/ü",
      "accept-language": "de",
      "x-forwarded-for": "198.51.100.7",
      "sec-purpose": "prefetch;prerender",
      dnt: "1",
    };
    expect(locationOf(await request("/abc?utm_source=x", { fields }))).toBe(link.destination);
    expect(clicks).toEqual([
      {
        time: expect.any(Number),
        linkId: link.link_id,
        accountId: link.account_id,
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
    const second = request("/abc", { peer: "203.0.113.5" });
    expect(second).not.toBeInstanceOf(Promise);
    expect(clicks[1]).toMatchObject({ address: "203.0.113.5", prefetch: false, privacy: false });
    expect(fetched).toEqual(["/abc"]);
  });

  test("HEAD, errors and wrong passwords are no clicks; a right password is one", async () => {
    inStream = [link, { ...link, alias: "secret", password_hash: "hash" }];
    const request = createTestHandler();
    const post = async (password: string) =>
      statusOf(
        await request("/secret", { method: "POST", body: `password=${password}`, fields: FORM }),
      );
    expect(statusOf(await request("/abc", { method: "HEAD" }))).toBe(302);
    expect(statusOf(await request("/none"))).toBe(404);
    expect(statusOf(await request("/secret"))).toBe(401);
    expect(await post("wrong")).toBe(401);
    expect(clicks).toEqual([]);
    expect(await post("right")).toBe(302);
    expect(clicks).toHaveLength(1);
  });

  test("an unlock cookie unlocks only its link, and only that version of the link", async () => {
    const secret = { ...link, alias: "secret", password_hash: "hash" };
    inStream = [secret, { ...secret, alias: "other", link_id: link.account_id }];
    const request = createTestHandler();
    const right = await request("/secret", {
      method: "POST",
      body: "password=right",
      fields: FORM,
    });
    const cookie = cookieOf(right);
    expect(cookie).toMatch(/; Path=\/secret; Max-Age=900; HttpOnly; SameSite=Lax; Secure$/);
    const fields = { cookie: `a=b; ${cookie.split(";")[0]}; c=d` };
    expect(locationOf(await request("/secret", { fields }))).toBe(link.destination);
    expect(clicks).toHaveLength(2);
    expect(statusOf(await request("/other", { fields }))).toBe(401);
    const forged = { cookie: `${cookie.split(";")[0]?.slice(0, -1)}x` };
    expect(statusOf(await request("/secret", { fields: forged }))).toBe(401);
    cache.put({ ...secret, version: 2, password_hash: "another" });
    expect(statusOf(await request("/secret", { fields }))).toBe(401);
    expect(clicks).toHaveLength(2);
  });

  test("the password form's policy lets browsers follow the redirect to any destination", async () => {
    inStream = [{ ...link, password_hash: "hash" }];
    const page = await createTestHandler()("/abc");
    const policy = "headers" in page ? page.headers["content-security-policy"] : "";
    expect(policy).toContain("form-action http: https:");
  });

  const LIMIT: ClickLimit = { id: link.account_id, max: 5, before: 0, stored: 0, humans: true };
  const limited: ActiveLink = {
    ...link,
    extras: {
      limit: LIMIT,
      expired_url: "https://example.com/over",
    },
  };
  const CONFIRMED = { method: "POST", body: "confirm=yes", fields: FORM };

  test("a click of a limit in hand is taken at once, others are awaited, and each is one click", async () => {
    inStream = [limited];
    const request = createTestHandler();
    const agent = { fields: { "user-agent": "curl/8.0" } };
    await request("/abc", agent);
    expect(request("/abc", agent)).not.toBeInstanceOf(Promise);
    takeClick = async () => Promise.resolve("taken");
    expect(locationOf(await request("/abc", agent))).toBe(link.destination);
    expect(clicks).toHaveLength(3);
    takeClick = () => "spent";
    expect(locationOf(await request("/abc", agent))).toBe("https://example.com/over");
    takeClick = () => "busy";
    expect(await request("/abc", agent)).toMatchObject({
      status: 503,
      headers: { "retry-after": "2" },
    });
    expect(clicks).toHaveLength(3);
  });

  test("a redirect does not ask for the visitor's language, and every page is in it", async () => {
    const request = createTestHandler();
    const language = { "accept-language": "de-AT" };
    const protectedLink = { ...link, alias: "locked", password_hash: "hash" };
    inStream = [link, { ...limited, alias: "limited" }, protectedLink];
    const agent = { ...language, "user-agent": "curl/8.0" };
    const form = { ...language, ...FORM };
    languagesAsked = 0;
    await request("/abc", { fields: language });
    await request("/limited", { fields: agent });
    takeClick = async () => Promise.resolve("taken");
    await request("/limited", { fields: agent });
    await request("/locked", { method: "POST", body: "password=right", fields: form });
    expect([clicks.length, languagesAsked]).toEqual([4, 0]);
    takeClick = async () => Promise.resolve("busy");
    for (const [path, options] of [
      ["/nothing", { fields: language }],
      ["/", { fields: language }],
      ["/%zz", { fields: language }],
      ["/abc+", { fields: language }],
      ["/abc", { method: "PUT", fields: language }],
      ["/limited", { fields: agent }],
      ["/locked", { fields: language }],
      ["/locked", { method: "POST", body: "password=wrong", fields: form }],
    ] as const) {
      const response = await request(path, options);
      const headers = "headers" in response ? response.headers : {};
      expect([path, headers["content-language"]]).toEqual([path, "de"]);
    }
  });

  test("HEAD, programs and unpressed buttons take no click of a limit for people", async () => {
    inStream = [limited];
    const request = createTestHandler();
    takeClick = () => {
      throw new Error("No click may be taken.");
    };
    for (const options of [
      { method: "HEAD" },
      { fields: { "user-agent": "Googlebot/2.1" } },
      { fields: { "user-agent": "curl/8.0", "sec-purpose": "prefetch" } },
      { method: "POST" },
      { ...CONFIRMED, body: "confirm=no" },
      { ...CONFIRMED, fields: { "content-type": "text/plain" } },
    ])
      expect(statusOf(await request("/abc", options))).toBe(200);
    takeClick = () => "taken";
    const pressed = { ...CONFIRMED, fields: { ...FORM, "user-agent": "Googlebot/2.1" } };
    expect(locationOf(await request("/abc", pressed))).toBe(link.destination);
    expect(clicks).toHaveLength(1);
  });

  test.each([
    // What browsers and apps have sent ahead of a person.
    { "sec-purpose": "prefetch" },
    { "sec-purpose": "prefetch;prerender" },
    { "sec-purpose": "prefetch;anonymous-client-ip" },
    { purpose: "prefetch" },
    { purpose: "Preview" },
    // Safari's Top Sites, Opera's Speed Dial, and Facebook's app; Chrome's Instant added a colon.
    { "x-purpose": "preview" },
    { "x-purpose": ": preview" },
    { "x-purpose": "instant" },
    { "x-moz": "prefetch" },
    { "x-moz": "microsummary" },
    // Scripts, which may not set `Sec-Purpose`.
    { "x-sec-purpose": "prefetch" },
    // Loads within a page.
    { "sec-fetch-dest": "image" },
    { "sec-fetch-dest": "script" },
    { "sec-fetch-dest": "iframe", "sec-fetch-mode": "navigate" },
    { "sec-fetch-dest": "empty", "sec-fetch-mode": "cors" },
    { "sec-fetch-dest": "video", "sec-fetch-mode": "no-cors" },
    { "sec-fetch-dest": "object" },
    // Nothing that a person's browser sends.
    { "user-agent": "" },
  ])("%p takes no click of a limit for people, and the person after it does", async (fields) => {
    inStream = [limited];
    const request = createTestHandler();
    takeClick = () => {
      throw new Error("No click may be taken.");
    };
    expect(statusOf(await request("/abc", { fields: { ...person, ...fields } }))).toBe(200);
    takeClick = () => "taken";
    expect(locationOf(await request("/abc", { fields: person }))).toBe(link.destination);
    expect(clicks).toHaveLength(1);
  });

  test("what is announced or within a page is a click with that mark", async () => {
    const request = createTestHandler();
    await request("/abc", { fields: { ...person, "x-purpose": "preview" } });
    await request("/abc", { fields: { ...person, "sec-fetch-dest": "image" } });
    await request("/abc", { fields: person });
    expect(clicks.map(({ prefetch, embedded }) => [prefetch, embedded])).toEqual([
      [true, false],
      [false, true],
      [false, false],
    ]);
  });

  test("an address that is too long to be passed on takes no click of the limit", async () => {
    inStream = [{ ...limited, forward_query: true }];
    const request = createTestHandler();
    takeClick = () => {
      throw new Error("No click may be taken.");
    };
    const path = `/abc?x=${"ü".repeat(3_000)}`;
    expect(statusOf(await request(path, CONFIRMED))).toBe(414);
  });

  describe("behind a page of the link", () => {
    const REFERRER = "https://news.example.org/a?b=c#d";
    const rules = [
      {
        id: "0190a5a2-0000-7000-8000-000000000009",
        url: "https://example.com/from-news",
        conditions: [{ type: "referrer" as const, in: ["example.org"] }],
      },
    ];
    const PAGES: [string, Partial<ActiveLink>, string][] = [
      ["a password", { password_hash: "hash" }, "password=right"],
      ["a confirmation", { extras: { rules, confirm: true } }, "confirm=yes"],
      ["a limit", { extras: { rules, limit: { ...LIMIT, humans: true } } }, "confirm=yes"],
      [
        "a password and a limit",
        { password_hash: "hash", extras: { rules, limit: LIMIT } },
        "password=right",
      ],
      ["a wrong password", { password_hash: "hash" }, "password=wrong"],
    ];

    test.each(PAGES)(
      "%s, rules and clicks have the referrer of the visit",
      async (_what, change, body) => {
        inStream = [{ ...link, extras: { rules }, ...change }];
        const request = createTestHandler();
        const fields = { referer: REFERRER, "user-agent": "curl/8.9.1" };
        let response = await request("/abc", {
          fields: { ...fields, "user-agent": "Googlebot/2.1" },
        });
        expect([200, 401]).toContain(statusOf(response));
        const post = async (form: string) =>
          await request("/abc", { method: "POST", body: form + postedBy(response), fields: FORM });
        response = await post(body);
        // The form after a wrong password carries it on.
        if (statusOf(response) === 401) response = await post("password=right");
        expect(locationOf(response)).toBe("https://example.com/from-news");
        expect(clicks.map(({ referrer }) => referrer)).toEqual(["https://news.example.org/a"]);
      },
    );

    test("a visit without a referrer has none, and none is shown", async () => {
      inStream = [{ ...link, extras: { rules, confirm: true } }];
      const request = createTestHandler();
      for (const referer of ["", "nonsense", "javascript:alert(1)", "about:blank", "data:,x"])
        expect(postedBy(await request("/abc", { fields: { referer } }))).toBe("");
      expect(locationOf(await request("/abc", CONFIRMED))).toBe(link.destination);
      expect(clicks.map(({ referrer }) => referrer)).toEqual([""]);
    });

    test.each([
      [
        "markup",
        'https://example.org/"><script>alert(1)</script>',
        "https://example.org/%22%3E%3Cscript%3Ealert(1)%3C/script%3E",
      ],
      ["line breaks", "https://example.org/a\r\nX: y", "https://example.org/aX:%20y"],
      ["credentials", "https://user:secret@example.org/", "https://example.org/"],
      ["a query", "https://example.org/a?token=secret", "https://example.org/a"],
      ["no page", "javascript:alert(1)", ""],
      [
        "a long path",
        `https://example.org/${"x".repeat(2_000)}`,
        `https://example.org/${"x".repeat(511)}`,
      ],
    ])(
      "a posted referrer with %s is what it would be in the header",
      async (_what, posted, kept) => {
        inStream = [{ ...link, extras: { confirm: true } }];
        const body = `confirm=yes&referrer=${encodeURIComponent(posted)}`;
        const response = await createTestHandler()("/abc", { ...CONFIRMED, body });
        expect(locationOf(response)).toBe(link.destination);
        expect(clicks.map(({ referrer }) => referrer)).toEqual([kept]);
      },
    );
  });

  test("a custom domain has its own links", async () => {
    inStream = [{ ...link, domain: "go.example.com", destination: "https://example.com/custom" }];
    const request = createTestHandler();
    expect(locationOf(await request("/abc", { host: "Go.Example.com:443" }))).toBe(
      "https://example.com/custom",
    );
    expect(statusOf(await request("/abc"))).toBe(404);
  });

  test("the query is forwarded only by links with forward_query", async () => {
    inStream = [link, { ...link, alias: "forwarding", forward_query: true }];
    const request = createTestHandler();
    expect(locationOf(await request("/abc?x=1"))).toBe(link.destination);
    expect(locationOf(await request("/forwarding?x=%C3%BC"))).toBe(`${link.destination}?x=%C3%BC`);
    expect(locationOf(await request("/forwarding"))).toBe(link.destination);
  });

  test("the mark of QR codes is not forwarded, and is no part of the click's query", async () => {
    inStream = [link, { ...link, alias: "forwarding", forward_query: true }];
    const request = createTestHandler();
    expect(locationOf(await request("/forwarding?_qr"))).toBe(link.destination);
    expect(locationOf(await request("/forwarding?a=1&_qr&b=2"))).toBe(
      `${link.destination}?a=1&b=2`,
    );
    expect(locationOf(await request("/forwarding?_qr=1"))).toBe(`${link.destination}?_qr=1`);
    expect(locationOf(await request("/abc?_qr&utm_source=x"))).toBe(link.destination);
    expect(clicks.map(({ scanned, query }) => [scanned, query])).toEqual([
      [true, ""],
      [true, "a=1&b=2"],
      [false, "_qr=1"],
      [true, "utm_source=x"],
    ]);
  });

  test("a password and a rule by the query see no mark of QR codes, and a scan stays one", async () => {
    const rules = [
      {
        id: "0190a5a2-0000-7000-8000-000000000009",
        conditions: [{ type: "query" as const, name: "_qr" }],
        url: "https://example.com/marked",
      },
    ];
    inStream = [
      { ...link, extras: { rules } },
      { ...link, alias: "secret", password_hash: "a hash" },
    ];
    const request = createTestHandler();
    expect(locationOf(await request("/abc?_qr"))).toBe(link.destination);
    expect(statusOf(await request("/secret?_qr"))).toBe(401);
    expect(statusOf(await request("/abc+?_qr"))).toBe(200);
    const post = { method: "POST", body: "password=right", fields: FORM };
    expect(locationOf(await request("/secret?_qr", post))).toBe(link.destination);
    expect(clicks.map(({ scanned }) => scanned)).toEqual([true, true]);
  });

  test("responses after an await are those decided, whatever other requests did meanwhile", async () => {
    inStream = Array.from({ length: 50 }, (_, i) => ({
      ...link,
      alias: `a${i}`,
      destination: `https://example.com/${i}`,
      forward_query: i % 2 === 0,
    }));
    const request = createTestHandler();
    const responses = await Promise.all(inStream.map(async ({ alias }) => request(`/${alias}?q`)));
    expect(responses.map(locationOf)).toEqual(
      inStream.map(({ destination }, i) => destination + (i % 2 === 0 ? "?q" : "")),
    );
  });

  test.each(["password=right", "confirm=yes"])(
    "whoever posts %s is redirected to the destination of their own link, also when others do at the same moment",
    async (body) => {
      inStream = Array.from({ length: 20 }, (_, i) => ({
        ...link,
        alias: `a${i}`,
        version: i + 1,
        destination: `https://example.com/${i}`,
        password_hash: "a hash",
        extras: i % 2 === 0 ? { confirm: true } : { limit: LIMIT },
      }));
      const request = createTestHandler();
      const unlocked = await Promise.all(
        inStream.map(async ({ alias }) =>
          request(`/${alias}`, { method: "POST", body: "password=right", fields: FORM }),
        ),
      );
      const responses = await Promise.all(
        inStream.map(async ({ alias }, i) => {
          const fields = { ...FORM, cookie: cookieOf(unlocked[i]) };
          return await request(`/${alias}`, { method: "POST", body, fields });
        }),
      );
      expect(responses.map(locationOf)).toEqual(inStream.map(({ destination }) => destination));
    },
  );

  test("a click has the UTM parameters that its destination was sent before those of the short URL", async () => {
    const utm = "utm_source=newsletter&utm_medium=email";
    inStream = [link, { ...link, alias: "tagged", utm, extras: { starts_at: 0 } }];
    const request = createTestHandler();
    for (const path of ["/tagged", "/tagged?utm_source=own&utm_term=own", "/abc?utm_source=own"])
      expect(locationOf(await request(path))).toBe(link.destination);
    const sources = clicks.map(({ query }) => new URLSearchParams(query).get("utm_source"));
    expect(sources).toEqual(["newsletter", "newsletter", "own"]);
    expect(clicks[1]?.query).toBe(`${utm}&utm_source=own&utm_term=own`);
  });

  test("a click on a rule has the UTM parameters that the rule's destination was sent", async () => {
    const urls = ["https://example.org/?utm_source=rule&a=1", "https://example.org/"];
    const rules = urls.map((url, i) => ({
      id: `0190a5a2-0000-7000-8000-00000000000${i}`,
      url,
      conditions: [{ type: "query" as const, name: `rule${i}` }],
    }));
    inStream = [{ ...link, utm: "utm_source=link", extras: { rules } }];
    const request = createTestHandler();
    for (const path of ["/abc?rule0", "/abc?rule1", "/abc?none"]) await request(path);
    expect(clicks.map(({ query }) => query)).toEqual([
      "utm_source=rule&rule0",
      "rule1",
      "utm_source=link&none",
    ]);
  });

  test("a link that cannot be fetched is 503, not 404", async () => {
    broken = true;
    const response = await createTestHandler()("/abc");
    expect(response).toMatchObject({ status: 503, headers: { "retry-after": "2" } });
  });

  test("a client that requests many aliases that do not exist is rate limited, and no other client", async () => {
    const request = createTestHandler();
    const scan = async (peer: string) => {
      const statuses = [];
      for (let i = 0; i < 130; i++) statuses.push(statusOf(await request(`/none-${i}`, { peer })));
      return statuses;
    };
    const statuses = await scan("203.0.113.1");
    expect(statuses.filter((status) => status === 404)).toHaveLength(120);
    expect(statuses.filter((status) => status === 429)).toHaveLength(10);
    expect(statusOf(await request("/abc", { peer: "203.0.113.2" }))).toBe(302);
    // A cached link needs no lookup.
    expect(statusOf(await request("/abc", { peer: "203.0.113.1" }))).toBe(302);
  });

  test("an IPv6 network has one limit for all of its addresses, and a site ten times as much", async () => {
    const request = createTestHandler();
    const scan = async (count: number, peerOf: (i: number) => string) => {
      const statuses = [];
      for (let i = 0; i < count; i++)
        statuses.push(statusOf(await request(`/none-${i}`, { peer: peerOf(i) })));
      return statuses.filter((status) => status === 404).length;
    };
    expect(await scan(300, (i) => `2001:db8:0:7::${i.toString(16)}`)).toBe(120);
    expect(await scan(1_500, (i) => `2001:db8:1:${i.toString(16)}::1`)).toBe(1_200);
    expect(statusOf(await request("/abc", { peer: "2001:db8:2::1" }))).toBe(302);
  });

  test("one network gets no more than its share of the lookups in flight", async () => {
    const request = createTestHandler();
    const { promise, resolve } = Promise.withResolvers<void>();
    fetchGate = promise;
    const waiting = Array.from({ length: 64 }, async (_, i) =>
      request(`/waiting-${i}`, { peer: `2001:db8::${i}` }),
    );
    expect(await request("/one-more", { peer: "2001:db8::99" })).toMatchObject({ status: 503 });
    const other = request("/abc", { peer: "2001:db8:1::1" });
    resolve();
    expect(statusOf(await other)).toBe(302);
    expect(new Set((await Promise.all(waiting)).map(statusOf))).toEqual(new Set([404]));
    expect(statusOf(await request("/one-more", { peer: "2001:db8::99" }))).toBe(404);
  });

  test("a query that is too long to be forwarded is 414, and no click", async () => {
    const forwarding = { ...link, alias: "forwarding", forward_query: true };
    inStream = [forwarding, { ...forwarding, alias: "secret", password_hash: "hash" }, link];
    const request = createTestHandler();
    const long = "ü".repeat(3_000);
    for (const method of ["GET", "HEAD"])
      expect(statusOf(await request(`/forwarding?x=${long}`, { method }))).toBe(414);
    const post = { method: "POST", body: "password=right", fields: FORM };
    expect(statusOf(await request(`/secret?x=${long}`, post))).toBe(414);
    expect(clicks).toEqual([]);
    expect(statusOf(await request(`/forwarding?x=1`))).toBe(302);
    // A link without forward_query ignores the query.
    expect(statusOf(await request(`/abc?x=${long}`))).toBe(302);
    expect(clicks).toHaveLength(2);
  });

  test("lookups beyond the limit are 503 with Retry-After, and cached links still redirect", async () => {
    const request = createTestHandler();
    expect(statusOf(await request("/abc"))).toBe(302);
    const { promise, resolve } = Promise.withResolvers<void>();
    fetchGate = promise;
    const waiting = Array.from({ length: 512 }, async (_, i) =>
      request(`/waiting-${i}`, { peer: `203.0.113.${i % 250}` }),
    );
    const rejected = await request("/one-more", { peer: "198.51.100.1" });
    expect(rejected).toMatchObject({ status: 503, headers: { "retry-after": "2" } });
    expect(statusOf(await request("/abc"))).toBe(302);
    resolve();
    expect(new Set((await Promise.all(waiting)).map(statusOf))).toEqual(new Set([404]));
    expect(statusOf(await request("/one-more", { peer: "198.51.100.1" }))).toBe(404);
  });

  test("while the process is behind, links that are not in memory are 503 without a look into the store", async () => {
    const request = createTestHandler();
    expect(statusOf(await request("/abc"))).toBe(302);
    inStream = [...inStream, { ...link, alias: "stored" }];
    fetched = [];
    isBehind = true;
    for (const path of ["/stored", "/nothing", "/abc+"])
      expect(await request(path), path).toMatchObject({
        status: 503,
        headers: { "retry-after": "2" },
      });
    expect(fetched).toEqual([]);
    expect(statusOf(await request("/abc"))).toBe(302);
    isBehind = false;
    expect(statusOf(await request("/stored"))).toBe(302);
  });
});

describe("a custom domain", () => {
  const HOST = "go.example.com";
  const own: ActiveLink = { ...link, domain: HOST, alias: "own" };

  test("answers as it has set it, from its second request on at once; its settings are read once", async () => {
    settingsInStream.set(HOST, {
      root_url: "https://example.com/root",
      not_found_url: "https://example.com/not-found",
      expired_url: "https://example.com/over",
      assetlinks: [1],
    });
    inStream = [{ ...own, expires_at: 1 }];
    const request = createTestHandler();
    const get = (path: string) => request(path, { host: HOST });
    expect(locationOf(await get("/"))).toBe("https://example.com/root");
    expect(locationOf(await get("/own"))).toBe("https://example.com/over");
    const again = get("/own");
    expect(again instanceof Promise).toBe(false);
    expect(locationOf(await get("/nothing"))).toBe("https://example.com/not-found");
    expect(await get("/.well-known/assetlinks.json")).toMatchObject({ status: 200 });
    expect(statusOf(await get("/.well-known/apple-app-site-association"))).toBe(404);
    expect(statusOf(await request("/nothing", { host: HOST, method: "POST" }))).toBe(404);
    expect(fetched.filter((name) => name.endsWith("@domain"))).toEqual([`${HOST}/@domain`]);
    expect(clicks).toEqual([]);
  });

  test.each<[string, Partial<TakedownList>, number[]]>([
    ["another account", { accounts: ["another"] }, [302, 302, 302, 200]],
    ["its account", { accounts: [link.account_id] }, [451, 451, 451, 451]],
    ["a host it leads to", { hosts: ["evil.example"] }, [302, 451, 302, 200]],
  ])("answers 451 in the place of what a takedown of %s covers", async (_, list, expected) => {
    settingsInStream.set(HOST, {
      root_url: "https://example.com/root",
      not_found_url: "https://www.evil.example/",
      expired_url: "https://example.com/over",
      assetlinks: [1],
    });
    inStream = [{ ...own, expires_at: 1 }];
    const request = createTestHandler();
    takedowns.apply(takedownNotice({ accounts: [], hosts: [], ...list }));
    const paths = ["/", "/nothing", "/own", "/.well-known/assetlinks.json"];
    const statuses = [];
    for (const path of paths) statuses.push(statusOf(await request(path, { host: HOST })));
    expect(statuses).toEqual(expected);
  });

  test("without settings is asked for them once, and never for a link that is cached", async () => {
    inStream = [own];
    const request = createTestHandler();
    expect(statusOf(await request("/own", { host: HOST }))).toBe(302);
    expect(statusOf(await request("/nothing", { host: HOST }))).toBe(404);
    expect(statusOf(await request("/", { host: HOST }))).toBe(404);
    expect(fetched).toEqual([`${HOST}/@domain`, `${HOST}/own`, `${HOST}/nothing`]);
  });

  test("has pages while its settings cannot be read, and its own answers afterwards", async () => {
    settingsInStream.set(HOST, { root_url: "https://example.com/root" });
    broken = true;
    const request = createTestHandler();
    expect(statusOf(await request("/", { host: HOST }))).toBe(404);
    broken = false;
    expect(locationOf(await request("/", { host: HOST }))).toBe("https://example.com/root");
  });

  test("that ignores case finds a link by any spelling of its alias, and no other link", async () => {
    const letter = fc.constantFrom(...Array.from("aBcXyZ01_-"));
    const alias = fc
      .array(letter, { minLength: 1, maxLength: 8 })
      .map((text) => `a${text.join("")}`);
    const fold = fc.constantFrom("all", "switching", undefined);
    await fc.assert(
      fc.asyncProperty(
        alias,
        alias,
        fold,
        fc.boolean(),
        fc.boolean(),
        async (stored, typed, folding, asTyped, formerIsDeleted) => {
          settingsInStream.set(HOST, folding === undefined ? {} : { fold: folding });
          // While a domain switches, some links are still under their aliases as typed.
          const isFolded = folding === "all" || (folding === "switching" && !asTyped);
          const name = isFolded ? stored.toLowerCase() : stored;
          inStream = [{ ...own, alias: name }];
          const request = createTestHandler();
          if (formerIsDeleted && isFolded && name !== stored)
            cache.put({ state: "deleted", version: 1, domain: HOST, alias: stored });
          const expected =
            folding === undefined || !isFolded
              ? typed === stored || (folding === "switching" && typed.toLowerCase() === name)
              : typed.toLowerCase() === name;
          for (let i = 0; i < 2; i++) {
            const response = await request(`/${typed}`, { host: HOST });
            expect(statusOf(response)).toBe(expected ? 302 : 404);
          }
        },
      ),
      { numRuns: casesOf(200) },
    );
  });
});

test("a link that is taken down is 451 to everybody, and no click", async () => {
  const secret = { ...link, alias: "secret", password_hash: "hash" };
  const taken = [
    { ...link, extras: { taken_down: true as const } },
    { ...secret, extras: { taken_down: true as const, disabled: true as const } },
  ];
  inStream = taken;
  const request = createTestHandler();
  for (const { alias } of taken)
    for (const method of ["GET", "HEAD"])
      expect(statusOf(await request(`/${alias}`, { method }))).toBe(451);
  const post = { method: "POST", body: "password=right", fields: FORM };
  expect(statusOf(await request("/secret", post))).toBe(451);
  expect(clicks).toEqual([]);
});

describe("a failed request", () => {
  const HOST = "go.example.com";
  const own: ActiveLink = { ...link, domain: HOST, alias: "own" };
  const extras = { limit: { id: link.account_id, max: 5, before: 0, stored: 0 } };

  test("counts once, also where the domain's settings had to be read first, and leads to another URL", async () => {
    settingsInStream.set(HOST, { not_found_url: "https://example.com/", fold: "all" });
    inStream = [{ ...own, expires_at: 1 }];
    const request = createTestHandler();
    expect(locationOf(await request("/Nothing", { host: HOST }))).toBe("https://example.com/");
    for (let i = 0; i < 2; i++) await request("/own", { host: HOST });
    expect(failures).toEqual([
      ["unknown_alias", HOST, "nothing"],
      ["expired", "test", HOST],
      ["expired", "test", HOST],
    ]);
  });

  test.each([
    ["expired", { expires_at: 1 }],
    ["expired", { expires_at: 1, extras: { expired_url: "https://example.com/over" } }],
    ["disabled", { extras: { disabled: true as const } }],
    ["not_started", { extras: { starts_at: 8e15 } }],
    ["limit_reached", { extras }],
    ["limit_reached", { extras: { ...extras, confirm: true as const } }],
  ])("of a link counts as %s: %j", async (reason, part: Partial<ActiveLink>) => {
    takeClick = () => "spent";
    inStream = [{ ...link, ...part }];
    const request = createTestHandler();
    const method =
      "confirm" in (part.extras ?? {}) ? { method: "POST", body: "confirm=yes", fields: FORM } : {};
    await request("/abc", method);
    await request("/abc", method);
    expect(failures).toEqual([
      [reason, "test", ""],
      [reason, "test", ""],
    ]);
    await request("/abc", { method: "HEAD" });
    await request("/abc+");
    expect(failures).toHaveLength(2);
    expect(clicks).toEqual([]);
  });

  test("with a password counts if that is wrong, and neither without one nor with the right one", async () => {
    inStream = [{ ...link, password_hash: "hash" }];
    const request = createTestHandler();
    for (const body of ["password=wrong", "password=right", ""])
      await request("/abc", { method: "POST", body, fields: FORM });
    await request("/abc");
    expect(failures).toEqual([["wrong_password", "test", ""]]);
  });

  test("for an unknown alias counts only on a custom domain, and only where the path begins with an alias", async () => {
    inStream = [own];
    const request = createTestHandler();
    for (const path of ["/nothing", "/", "/robots.txt"]) await request(path);
    for (const path of [
      "/",
      "/-env",
      "/a,php",
      "/favicon.ico",
      "/own",
      "/own/more",
      "/own+",
      "/no+",
    ])
      await request(path, { host: HOST });
    expect(failures).toEqual([]);
    for (const path of ["/n%6Fthing/", "/nothing", "/nothing/more"])
      await request(path, { host: HOST });
    cache.put({ state: "deleted", version: 2, domain: HOST, alias: "own" });
    await request("/own", { host: HOST });
    const names = failures.map(([, , alias]) => alias);
    expect(names).toEqual(["nothing", "nothing", "nothing/more", "own"]);
  });

  test("that could not be looked up does not count", async () => {
    broken = true;
    expect(statusOf(await createTestHandler()("/nothing", { host: HOST }))).toBe(503);
    expect(failures).toEqual([]);
  });
});
