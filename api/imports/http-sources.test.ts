/**
 * Goal: each product that is read over HTTP comes along whole, and nothing that such a server sends
 * or leaves out makes an import hang, grow, leak its key, or take what is wrong. Method: servers of
 * the test's own, in the shapes that the products document.
 */
import { afterAll, describe, expect, test } from "bun:test";

import { linkRow } from "../../test/harness/link-row.ts";
import { clicksResponse } from "../clicks/service.ts";
import { fullLink, toFullLink } from "../links/responses.ts";
import { Bitly } from "./bitly.ts";
import { Dub } from "./dub.ts";
import { HttpSource } from "./http-source.ts";
import { Rebrandly } from "./rebrandly.ts";
import { Shlink } from "./shlink.ts";
import { ShortIo } from "./short-io.ts";
import { Shorthop } from "./shorthop.ts";
import type { Cursor, Page, Source, SourceLink, SourceVisits } from "./source.ts";

const KEY = "key-that-nobody-may-see";
/** Of a server that hangs, and of one on a busy machine. */
const HANGING_MS = 400;
const REQUEST_MS = 30_000;
const REQUESTS_MAX = 40;
const { signal } = new AbortController();

type Handler = (url: URL, request: Request) => unknown;

const servers: { stop(force: boolean): unknown }[] = [];
afterAll(() => Promise.all(servers.map((server) => server.stop(true))));

/** Serves JSON, or a response. */
function serve(handle: Handler): URL {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const found = await handle(new URL(request.url), request);
      return found instanceof Response ? found : Response.json(found);
    },
  });
  servers.push(server);
  return server.url;
}

const connect = (url: URL, requestMs = REQUEST_MS): HttpSource =>
  new HttpSource("Product", url, { "x-key": KEY }, requestMs, REQUESTS_MAX);

async function readAll<Row>(read: (after: Cursor | null) => Promise<Page<Row>>): Promise<Row[]> {
  const rows: Row[] = [];
  for (let after: Cursor | null = null; ;) {
    const page: Page<Row> = await read(after);
    // Every page can be read again, as a run does that was killed; the first may only say when.
    if (page.rows.length > 0) expect(await read(after)).toEqual(page);
    rows.push(...page.rows);
    if (page.next === null) return rows;
    after = page.next;
  }
}

const linksOf = (source: Source): Promise<SourceLink[]> =>
  readAll((after) => source.links(after, signal));
const visitsOf = (source: Source): Promise<SourceVisits[]> =>
  readAll((after) => source.visits(after, signal));

const numberOf = (url: URL, name: string): number => Number(url.searchParams.get(name) ?? 1);

const shlinkUrl = (code: string, change: object = {}) => ({
  shortCode: code,
  shortUrl: `https://s.test/${code}`,
  longUrl: `https://example.com/${code}`,
  dateCreated: "2016-08-21T20:34:16+02:00",
  visitsSummary: { total: 0, nonBots: 0, bots: 0 },
  tags: ["games"],
  meta: { validSince: null, validUntil: null, maxVisits: null },
  domain: null,
  title: null,
  crawlable: false,
  forwardQuery: false,
  hasRedirectRules: false,
  ...change,
});

const shlinkVisit = (day: number) => ({
  referer: "https://t.co",
  date: `2015-08-${day}T05:05:03+04:00`,
  userAgent: "Mozilla/5.0 (X11; Linux x86_64)",
  visitLocation: { cityName: "Cupertino", countryCode: "US", regionName: "California" },
  potentialBot: false,
  visitedUrl: "https://s.test",
});

const paginate = (page: number, pages: number) => ({
  currentPage: page,
  pagesCount: pages,
  itemsPerPage: 100,
  itemsInCurrentPage: 1,
  totalItems: pages,
});

describe("Shlink", () => {
  const url = serve(({ pathname, searchParams }, request) => {
    expect(request.headers.get("x-key")).toBe(KEY);
    const page = Number(searchParams.get("page"));
    if (pathname.endsWith("/redirect-rules"))
      return {
        defaultLongUrl: "https://example.com/",
        redirectRules: [
          {
            longUrl: "https://example.com/android",
            priority: 1,
            conditions: [{ type: "device", matchKey: null, matchValue: "android" }],
          },
          {
            longUrl: "https://example.com/berlin",
            priority: 2,
            conditions: [{ type: "geolocation-city-name", matchKey: null, matchValue: "Berlin" }],
          },
        ],
      };
    if (pathname.endsWith("/visits")) {
      expect(searchParams.get("domain")).toBe("go.test");
      expect(searchParams.has("endDate")).toBe(true);
      return { visits: { data: [shlinkVisit(22 - page)], pagination: paginate(page, 2) } };
    }
    const seen = { total: 2, nonBots: 2, bots: 0 };
    const meta = { validSince: null, validUntil: "2031-01-01T00:00:00+01:00", maxVisits: 5 };
    const second = { domain: "go.test", visitsSummary: seen, hasRedirectRules: true, meta };
    const links = [shlinkUrl("first"), shlinkUrl("a/b", second)];
    return { shortUrls: { data: [links[page - 1]], pagination: paginate(page, 2) } };
  });

  test("links come with their rules, limits and what is left", async () => {
    const [first, second, ...rest] = await linksOf(new Shlink(connect(url)));
    expect(rest).toEqual([]);
    expect(first).toEqual({
      id: "/first",
      domain: null,
      alias: "first",
      url: "https://example.com/first",
      tags: ["games"],
      createdAt: new Date("2016-08-21T18:34:16Z"),
      settings: { forward_query: false },
    });
    expect(second).toMatchObject({
      id: "go.test/a/b",
      domain: "go.test",
      expiresAt: new Date("2030-12-31T23:00:00Z"),
      settings: {
        max_clicks: 3,
        rules: [
          { url: "https://example.com/android", conditions: [{ type: "os", in: ["Android"] }] },
        ],
      },
      left: ["1 of its rules"],
    });
  });

  test("visits come from every page, of links that have some", async () => {
    const visits = await visitsOf(new Shlink(connect(url)));
    expect(visits.map(({ at }) => at.toISOString())).toEqual([
      "2015-08-21T01:05:03.000Z",
      "2015-08-20T01:05:03.000Z",
    ]);
    expect(visits[0]).toMatchObject({
      linkId: "go.test/a/b",
      daily: true,
      count: 1,
      country: "US",
      city: "Cupertino",
      referrer: "https://t.co",
    });
  });
});

const bitlink = (id: string, change: object = {}) => ({
  id,
  link: `https://${id}`,
  long_url: "https://example.com/",
  title: "A title",
  archived: false,
  created_at: "2020-01-02T03:04:05+0000",
  custom_bitlinks: [],
  tags: ["a"],
  deeplinks: [],
  ...change,
});

describe("Bitly", () => {
  const DAYS = 60;
  const url = serve(({ pathname, searchParams }) => {
    if (pathname === "/v4/groups/B1/bitlinks") {
      const isSecond = searchParams.get("search_after") === "next";
      const custom = { archived: true, custom_bitlinks: ["https://go.test/sale"] };
      return {
        links: [isSecond ? bitlink("bit.ly/two", custom) : bitlink("bit.ly/one")],
        pagination: { search_after: isSecond ? "" : "next", size: 100 },
      };
    }
    expect(pathname).toMatch(/^\/v4\/bitlinks\/bit\.ly\/(?:one|two)\/clicks$/);
    if (pathname.includes("two")) return { link_clicks: [], units: -1, unit: "day" };
    const end = new Date(searchParams.get("unit_reference") ?? "").getTime();
    const days = Array.from({ length: DAYS }, (_, day) => ({
      date: new Date(Date.UTC(2024, 0, DAYS - day)).toISOString().replace(".000Z", "+0000"),
      clicks: day % 2,
    }));
    const earlier = days.filter(({ date }) => Date.parse(date.replace("+0000", "Z")) < end);
    return { link_clicks: earlier.slice(0, 50), units: -1, unit: "day", unit_reference: "" };
  });

  test("a custom back-half is a link beside the one that it belongs to", async () => {
    const links = await linksOf(new Bitly(connect(url), "B1"));
    expect(links.map(({ domain, alias }) => `${domain}/${alias}`)).toEqual([
      "bit.ly/one",
      "bit.ly/two",
      "go.test/sale",
    ]);
    expect(links[0]?.createdAt).toEqual(new Date("2020-01-02T03:04:05Z"));
    expect(links[2]?.settings).toEqual({ archived: true });
  });

  test("the clicks of every day come, also of those beyond the first response", async () => {
    const visits = await visitsOf(new Bitly(connect(url), "B1"));
    expect(visits).toHaveLength(DAYS / 2);
    expect(new Set(visits.map(({ at }) => at.getTime())).size).toBe(DAYS / 2);
    expect(visits[0]).toMatchObject({ linkId: "bit.ly/one", daily: true, count: 1 });
  });
});

const dubLink = (n: number, change: object = {}) => ({
  id: `link_${n}`,
  domain: "dub.sh",
  key: `k${n}`,
  url: "https://example.com/",
  archived: false,
  expiresAt: null,
  password: null,
  tags: [{ id: "tag_1", name: "x", color: "red" }],
  createdAt: "2024-03-01T00:00:00.000Z",
  ...change,
});

describe("Dub", () => {
  const url = serve((request) => {
    const page = numberOf(request, "page");
    if (request.pathname === "/links")
      return page === 1
        ? Array.from({ length: 100 }, (_, n) => dubLink(n))
        : [
            dubLink(100, {
              password: "secret",
              ios: "https://apps.apple.com/1",
              geo: { DE: "https://example.de/" },
              testVariants: [
                { url: "https://example.com/", percentage: 60 },
                { url: "https://example.com/b", percentage: 40 },
              ],
            }),
            dubLink(101, { key: "_root" }),
          ];
    const click = { country: "DE", region: "Unknown", city: "Berlin", device: "Mobile" };
    const agent = {
      browser: "Mobile Safari",
      os: page === 1 ? "Unknown" : "Mac OS",
      referer: "t.co",
      refererUrl: "(direct)",
    };
    const at = `2024-03-0${page}T01:00:00.000Z`;
    return page > 2
      ? []
      : [{ timestamp: at, click: { id: `c${page}`, ...click, ...agent }, link: dubLink(page) }];
  });

  test("links come with rules and splits, and those with a password are disabled", async () => {
    const links = await linksOf(new Dub(connect(url)));
    expect(links).toHaveLength(102);
    expect(links[100]).toMatchObject({
      settings: {
        disabled: true,
        rules: [
          { url: "https://apps.apple.com/1", conditions: [{ type: "os", in: ["iOS"] }] },
          { url: "https://example.de/", conditions: [{ type: "country", in: ["DE"] }] },
        ],
        split: { arms: [{ url: "https://example.com/b", weight: 40 }] },
      },
      left: ["its password: it is disabled until it gets one"],
    });
    expect(links[101]?.alias).toBe("");
  });

  test("a card has the text of a page in one line, as ours have", async () => {
    const page = { title: "\u202b חנות\u202c\u200f", description: "Two\n lines" };
    const card = { proxy: true, ...page, image: "https://example.com/a.png" };
    const nameless = { proxy: true, title: "\u200f", description: "" };
    const own = serve(({ searchParams }) =>
      searchParams.get("page") === "1" ? [dubLink(0, card), dubLink(1, nameless)] : [],
    );
    const links = await linksOf(new Dub(connect(own)));
    expect(links.map(({ settings }) => settings)).toEqual([
      { preview: { title: "חנות", description: "Two  lines", image: card.image } },
      {},
    ]);
  });

  test("visits come with what is known of them", async () => {
    const visits = await visitsOf(new Dub(connect(url)));
    expect(visits.map(({ linkId }) => linkId)).toEqual(["link_1", "link_2"]);
    expect(visits[0]).toMatchObject({
      country: "DE",
      region: "",
      city: "Berlin",
      os: "",
      referrer: "https://t.co/",
    });
    expect(visits[1]).toMatchObject({ browser: "Safari", os: "macOS" });
  });
});

const rebrandlyLink = (n: number) => ({
  id: `id${n}`,
  title: "Title",
  slashtag: `s${n}`,
  destination: "https://example.com/",
  shortUrl: `go.test/s${n}`,
  domain: { id: "d", fullName: "go.test" },
  createdAt: "2016-07-13T10:54:12.000Z",
  clicks: n,
});

test("Rebrandly: links come from every page, with the number of clicks that do not", async () => {
  const url = serve(({ searchParams }) =>
    searchParams.get("last") === "id24"
      ? [rebrandlyLink(25)]
      : Array.from({ length: 25 }, (_, n) => rebrandlyLink(n)),
  );
  const source = new Rebrandly(connect(url));
  const links = await linksOf(source);
  expect(links.map(({ alias }) => alias)).toEqual(Array.from({ length: 26 }, (_, n) => `s${n}`));
  expect(links[25]?.left).toEqual(["25 clicks, whose days are not known"]);
  expect(await source.visits(null, signal)).toEqual({ rows: [], next: null });
});

const shortIoLink = (path: string, change: object = {}) => ({
  idString: `lnk_${path}`,
  path,
  originalURL: "https://example.com/",
  createdAt: "2024-03-01T00:00:00.000Z",
  ...change,
});

test("Short.io: links of a domain come with their settings", async () => {
  const all = {
    redirectType: "301",
    splitURL: "https://example.com/b",
    splitPercent: 30,
    clicksLimit: 9,
    skipQS: true,
    utmSource: "mail",
    hasPassword: true,
  };
  const url = serve(({ pathname, searchParams }) => {
    if (pathname === "/api/domains") return [{ id: 7, hostname: "go.test" }];
    expect(searchParams.get("domain_id")).toBe("7");
    return searchParams.get("pageToken") === "t"
      ? { count: 2, links: [shortIoLink("b", all)] }
      : { count: 2, links: [shortIoLink("a")], nextPageToken: "t" };
  });
  const [first, second] = await linksOf(new ShortIo(connect(url), "go.test"));
  expect(first).toMatchObject({ domain: "go.test", alias: "a", settings: {} });
  expect(second?.settings).toEqual({
    disabled: true,
    redirect_status: 301,
    max_clicks: 9,
    forward_query: false,
    utm_source: "mail",
    split: { arms: [{ url: "https://example.com/b", weight: 30 }] },
  });
  const other = new ShortIo(connect(url), "other.test");
  expect(other.links(null, signal)).rejects.toThrow("there is no domain other.test");
});

const OWN = linkRow({ tags: ["x"], forward_query: true, utm_source: "mail" });

const ownLink = (n: number, change: object = {}) => ({
  ...toFullLink({ ...OWN, alias: `a${n}` }, "https://go.test", "settings"),
  id: `link_${n}`,
  created_at: "2026-09-15T00:00:00.000Z",
  ...change,
});

const ownClick = (id: string, time: string) => ({
  id,
  time,
  link_id: "link_1",
  class: "human",
  class_reason: "",
  country: "DE",
  region: "DE-BE",
  region_name: "Berlin",
  city: "Berlin",
  continent: "EU",
  device: "mobile",
  browser: "Firefox",
  os: "Unknown",
  referrer: "example.com",
  referrer_path: "/news",
  language: "de",
  host: "go.test",
  trigger: "link",
  imported: "",
  utm_source: "",
  utm_medium: "",
  utm_campaign: "",
  utm_term: "",
  utm_content: "",
});

describe("another installation", () => {
  const rules = [
    { id: "rule_1", url: "https://example.com/i", conditions: [{ type: "os", in: ["iOS"] }] },
  ];
  const MONTHS: ReadonlyMap<string, string[]> = new Map([
    ["2026-09-01T00:00:00.000Z", ["2026-09-20T10:00:00.000Z", "2026-09-16T10:00:00.000Z"]],
    ["2026-11-01T00:00:00.000Z", ["2026-11-02T10:00:00.000Z"]],
  ]);
  const url = serve(({ pathname, searchParams }) => {
    const at = searchParams.get("starting_after");
    if (pathname === "/v1/links") {
      const last = { rules, max_clicks: 9, clicks_left: 4, has_password: true, archived: true };
      return at === "two"
        ? { data: [fullLink.parse(ownLink(2, last))], next_cursor: null }
        : { data: [fullLink.parse(ownLink(1))], next_cursor: "two" };
    }
    expect(searchParams.get("class")).toBe("human");
    const times = MONTHS.get(searchParams.get("start_date") ?? "") ?? [];
    const from = at === null ? 0 : 1;
    return clicksResponse.parse({
      data: times.slice(from, from + 1).map((time) => ownClick(`id-${time}`, time)),
      next_cursor: times.length > from + 1 ? "more" : null,
    });
  });

  test("links come with all settings, and rules without their ids", async () => {
    const [first, second] = await linksOf(new Shorthop(connect(url)));
    expect(first).toMatchObject({ id: "link_1", settings: { utm_source: "mail" } });
    expect(first?.left).toBeUndefined();
    expect(second?.settings).toEqual({
      archived: true,
      disabled: true,
      forward_query: true,
      utm_source: "mail",
      max_clicks: 4,
      rules: [{ url: "https://example.com/i", conditions: [{ type: "os", in: ["iOS"] }] }],
    });
  });

  test("clicks come month by month", async () => {
    const visits = await visitsOf(new Shorthop(connect(url)));
    expect(visits.map(({ at }) => at.toISOString())).toEqual([...MONTHS.values()].flat());
    expect(visits[0]).toMatchObject({
      country: "DE",
      os: "",
      referrer: "https://example.com/news",
    });
  });
});

/** How each product is opened, and a page of its links that has one more after it. */
const PRODUCTS: readonly {
  name: string;
  open: (http: HttpSource) => Source;
  page: (n: number) => unknown;
}[] = [
  {
    name: "Shlink",
    open: (http) => new Shlink(http),
    page: (n) => ({
      shortUrls: { data: [shlinkUrl(`c${n}`)], pagination: paginate(n, 1_000_000) },
    }),
  },
  {
    name: "Bitly",
    open: (http) => new Bitly(http, "B1"),
    page: (n) => ({ links: [bitlink(`bit.ly/${n}`)], pagination: { search_after: `at${n}` } }),
  },
  {
    name: "Dub",
    open: (http) => new Dub(http),
    page: (n) => Array.from({ length: 100 }, (_, i) => dubLink(n * 100 + i)),
  },
  {
    name: "Rebrandly",
    open: (http) => new Rebrandly(http),
    page: (n) => Array.from({ length: 25 }, (_, i) => rebrandlyLink(n * 25 + i)),
  },
  {
    name: "Short.io",
    open: (http) => new ShortIo(http, "go.test"),
    page: (n) => ({ links: [shortIoLink(`l${n}`)], nextPageToken: `t${n}` }),
  },
  {
    name: "Shorthop",
    open: (http) => new Shorthop(http),
    page: (n) => ({ data: [ownLink(n)], next_cursor: `at${n}` }),
  },
];

/** What Short.io is asked first. */
const DOMAINS = [{ id: 7, hostname: "go.test" }];

const HOUR_SECONDS = "3600";
const LONG_SECONDS = "86400";

/** What a server may do, and what is said of it; `page` is the nth page of a product. */
const HOSTILE: readonly {
  name: string;
  answer: (page: (n: number) => unknown, n: number) => unknown;
  error: RegExp;
  requestMs?: number;
}[] = [
  { name: "pages without an end", answer: (page, n) => page(n), error: /no end after 40 requests/ },
  { name: "pages in a circle", answer: (page, n) => page(n % 3), error: /pages repeat/ },
  { name: "the same page again", answer: (page) => page(1), error: /pages repeat/ },
  { name: "no JSON", answer: () => new Response("<html>"), error: /is no JSON/ },
  { name: "other JSON", answer: () => ({ links: 1, data: "x" }), error: /: expected|expected \w+/ },
  {
    name: "a field of 10 MB",
    answer: () => new Response(`"${"x".repeat(10 * 1024 ** 2)}"`),
    error: /too long/,
  },
  {
    name: "deep JSON",
    answer: () => new Response("[".repeat(1_000_000)),
    error: /is no JSON/,
  },
  {
    name: "a redirect to a private address",
    answer: () => Response.redirect("http://169.254.169.254/latest", 302),
    error: /it redirects \(302\)/,
  },
  {
    name: "no answer",
    answer: () => new Promise(() => undefined),
    error: /no response/,
    requestMs: HANGING_MS,
  },
  {
    name: "an answer that does not end",
    answer: () => new Response(new ReadableStream({ start: (c) => c.enqueue(Buffer.from("[")) })),
    error: /does not end/,
    requestMs: HANGING_MS,
  },
  {
    name: "429 for ever",
    answer: () => new Response("", { status: 429, headers: { "retry-after": "0" } }),
    error: /no more requests now \(429\)/,
  },
  {
    name: "429 for a day",
    answer: () => new Response("", { status: 429, headers: { "retry-after": LONG_SECONDS } }),
    error: /no more requests now \(429\)/,
  },
  { name: "a refusal", answer: () => new Response(KEY, { status: 401 }), error: /refuses the key/ },
];

describe.each(PRODUCTS)("a server in place of $name", ({ open, page }) => {
  test.each(HOSTILE)("that sends $name ends the import", async ({ answer, error, requestMs }) => {
    let n = 0;
    const url = serve(({ pathname }) =>
      pathname === "/api/domains" ? DOMAINS : answer(page, n++),
    );
    await using source = open(connect(url, requestMs));
    let thrown: unknown;
    let pages = 0;
    try {
      for (let after: Cursor | null = null; ; pages++) {
        const read: Page<SourceLink> = await source.links(after, signal);
        if (read.next === null) break;
        after = read.next;
      }
    } catch (cause) {
      thrown = cause;
    }
    const message = thrown instanceof Error ? thrown.message : "nothing was thrown";
    expect(message).toMatch(error);
    expect(message).toStartWith("Product, /");
    expect(message).not.toContain(KEY);
    expect(pages).toBeLessThanOrEqual(REQUESTS_MAX);
  });
});

test("what is wrong with a response is said in few words, whatever names it has", async () => {
  const name = "\u001b]0;x".repeat(100_000);
  const url = serve(() => [dubLink(1, { geo: { [name]: 5 } })]);
  const error = await new Dub(connect(url)).links(null, signal).catch((thrown: unknown) => thrown);
  expect(String(error)).toStartWith("SourceError: Product, /links: 0.geo.");
  expect(String(error).length).toBeLessThan(250);
});

test("a run that ends does not wait for what a product asks for", async () => {
  const stopping = new AbortController();
  const url = serve(() => {
    setTimeout(() => stopping.abort(new Error("Interrupted.")));
    return new Response("", { status: 429, headers: { "retry-after": HOUR_SECONDS } });
  });
  const reading = new Shlink(connect(url)).links(null, stopping.signal);
  expect(reading).rejects.toThrow("Interrupted.");
  await reading.catch(() => undefined);
});
