/**
 * Goal: the page of shared statistics can be read without scripts, shows texts as texts, and can be
 * framed only where its owner allows.
 */
import { describe, expect, test } from "bun:test";

import { COLUMN_FILTERS } from "../../../shared/contracts/analytics.ts";
import { fakeService } from "../../../test/harness/fake-service.ts";
import { listWords, MarkedCatalogue } from "../../../test/harness/marked-catalogue.ts";
import type { Brand } from "../../branding/service.ts";
import { ApiError, type ErrorCode, invalidField, notFound } from "../../http/errors.ts";
import type { SharedStatistics, SharedView } from "../model.ts";
import {
  pageHeaders,
  pageLanguageOf,
  renderMessage,
  renderPasswordForm,
  toPageLanguage,
} from "./document.ts";
import { renderStatistics } from "./page.tsx";
import { SharedPages } from "./routes.ts";

const ENGLISH = pageLanguageOf("en");
const GERMAN = pageLanguageOf("de-AT");

const HOSTILE = `"><script>alert(1)</script>&'`;

const statistics: SharedStatistics = {
  name: HOSTILE,
  short_url: `https://sho.rt/${HOSTILE}`,
  period: "7d",
  timezone: HOSTILE,
  summary: {
    total_clicks: 12_345,
    unique_clicks: 3,
    avg_daily_clicks: 1,
    clicks_per_day: 1.4,
    bot_clicks: 0,
    prefetch_clicks: 0,
  },
  clicks_over_time: [
    { date: "2026-01-01", clicks: 5, unique: 2 },
    { date: "2026-01-02", clicks: 0, unique: 0 },
  ],
  breakdowns: [
    {
      by: "utm_source",
      data: [
        { values: { utm_source: HOSTILE }, clicks: 4, percentage: 80 },
        { values: { utm_source: "" }, clicks: 1, percentage: 20 },
      ],
    },
  ],
};

const toView = (
  change: Partial<SharedStatistics> = {},
  rest: Partial<Omit<SharedView, "statistics">> = {},
): SharedView => ({
  statistics: { ...statistics, ...change },
  countries: undefined,
  brand: undefined,
  ...rest,
});

const htmlOf = (view: SharedView, language = ENGLISH): string =>
  new TextDecoder().decode(Bun.gunzipSync(renderStatistics(view, language).gzip));

/** What is between the tags of elements of a name, such as the code of scripts. */
const contentsOf = (html: string, name: string): string[] =>
  [...html.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, "gs"))].map(([, text = ""]) => text);

const toHash = (text: string): string =>
  `'sha256-${new Bun.CryptoHasher("sha256").update(text).digest("base64")}'`;

describe("texts of owners and visitors", () => {
  test("are shown as they are, and never become markup", () => {
    const brand: Brand = { name: HOSTILE, color: null, logo: null };
    const html = htmlOf(toView({}, { brand }));
    expect(html).not.toContain(HOSTILE);
    expect(html.match(/<script/g)).toHaveLength(1);
    expect(contentsOf(html, "script")[0]).not.toContain("alert(1)");
    // The title twice with the brand, the short URL, the brand, the time zone twice, the value.
    const escaped = /&quot;&gt;&lt;script&gt;alert\(1\)&lt;\/script&gt;&amp;&#(?:39|x27);/g;
    expect(html.match(escaped)?.length).toBeGreaterThanOrEqual(7);
    expect(renderMessage(ENGLISH, HOSTILE)).not.toContain("<script");
    expect(renderPasswordForm(ENGLISH, HOSTILE)).not.toContain("<script");
  });

  test("are not secret: the page does not contain its own address, whose length compression could tell", () => {
    const html = htmlOf(toView());
    expect(html).not.toContain("/shared/");
    expect(html).toContain('href="?period=24h');
  });
});

test("numbers, days and values can be read without scripts", () => {
  const html = htmlOf(toView()).replaceAll(/<script>.*<\/script>/gs, "");
  expect(html).toContain('<span class="stat-value">12,345</span>');
  expect(html).toContain('<span class="stat-value">1.4</span>');
  expect(html).toContain('<th scope="row">Jan 1</th><td>5</td><td>2</td>');
  expect(html).toContain("<title>Jan 1: 5 clicks, 2 unique</title>");
  expect(html).toContain('<span class="breakdown-clicks">4</span>');
});

test("a page without clicks has a chart and no division by zero", () => {
  const empty = { clicks_over_time: [{ date: "2026-01-01", clicks: 0, unique: 0 }] };
  for (const change of [empty, { ...empty, breakdowns: [] }, { clicks_over_time: [] }]) {
    expect(htmlOf(toView(change))).not.toMatch(/NaN|Infinity/);
  }
});

test.each([
  ["country", "DE", "Germany"],
  ["language", "de", "German"],
  ["language", "", "Unknown"],
  ["referrer", "xn--bcher-kva.de", "bücher.de"],
  ["host", "xn--80ak6aa92e.com", "xn--80ak6aa92e.com"],
])("a %s of %p is shown as %p", (by, value, text) => {
  const data = [{ values: { [by]: value }, clicks: 1, percentage: 100 }];
  const html = htmlOf(toView({ breakdowns: [{ by, data }] }));
  expect(html).toContain(`<span class="breakdown-name">${text}</span>`);
});

test("a share of countries has a map of all of them, and the list of the first ones", () => {
  const data = [{ values: { country: "DE" }, clicks: 9, percentage: 90 }];
  const countries = [
    { country: "DE", clicks: 9 },
    { country: "FR", clicks: 1 },
  ];
  const html = htmlOf(toView({ breakdowns: [{ by: "country", data }] }, { countries }));
  expect(html).toContain("<title>Germany: 9 clicks</title>");
  expect(html).toContain("<title>France: 1 click</title>");
  expect(html.match(/class="breakdown-name"/g)).toHaveLength(1);
  expect(htmlOf(toView())).not.toContain("<figure");
});

test("what is not over is marked, and drawn dotted", () => {
  const html = htmlOf(
    toView({
      clicks_over_time: [
        { date: "2026-01-01", clicks: 9, unique: 9 },
        { date: "2026-01-02", clicks: 1, unique: 1, unfinished: true },
        { date: "2026-01-03", clicks: 0, unique: 0, unfinished: true },
      ],
    }),
  );
  expect(html).toContain('<th scope="row">Jan 2 (so far)</th><td>1</td>');
  expect(html).not.toContain("Jan 3");
  expect(html).toMatch(/<path class="line-clicks line-unfinished" d="M0,/);
});

describe("the brand", () => {
  const logo = Buffer.from("image");

  test("is name and logo above the title, and the colour in place of ours", () => {
    const brand = { name: "Acme", color: "#fbbf24", logo };
    const html = htmlOf(toView({ name: "Campaign" }, { brand }));
    expect(html).toContain(`<img src="data:image/webp;base64,${btoa("image")}" alt=""/>`);
    expect(html).toContain("<span>Acme</span>");
    expect(html).toContain("<title>Campaign · Acme</title>");
    expect(html).toContain("--second: var(--muted)");
    expect(html).toMatch(/--accent: light-dark\(#(?!fbbf24)\w{6}, #fbbf24\)/);
  });

  test("is absent without one", () => {
    const html = htmlOf(toView({}, { brand: { name: null, color: null, logo: null } }));
    expect(html).not.toContain('class="brand"');
    expect(contentsOf(html, "style")).toHaveLength(2);
  });
});

const policyOf = (headers: Record<string, string>): string =>
  headers["content-security-policy"] ?? "";

describe("the policy", () => {
  const view = toView({}, { brand: { name: null, color: "#1d4ed8", logo: null } });

  test("allows the code of the page by its hashes, and nothing else", () => {
    const html = htmlOf(view);
    const policy = policyOf(pageHeaders(ENGLISH, [], renderStatistics(view, ENGLISH).code));
    const [styles, scripts] = [contentsOf(html, "style"), contentsOf(html, "script")];
    expect([styles.length, scripts.length]).toEqual([3, 1]);
    expect(policy).toStartWith("default-src 'none'; ");
    expect(policy).toContain(`style-src ${styles.map(toHash).join(" ")};`);
    expect(policy).toContain(`script-src ${scripts.map(toHash).join(" ")};`);
    expect(policy).not.toMatch(/unsafe|https?:|connect-src/);
    // The policy would block them.
    expect(html).not.toMatch(/ style="| on\w+="/);
  });

  test("of messages and the password's form allows no script", () => {
    for (const html of [
      renderMessage(ENGLISH, "", { back: true }),
      renderPasswordForm(ENGLISH, ""),
    ]) {
      const policy = policyOf(pageHeaders(ENGLISH, []));
      expect(contentsOf(html, "style").map(toHash)).toEqual([
        /style-src (\S+);/.exec(policy)?.[1] ?? "",
      ]);
      expect(policy).not.toContain("script-src");
      expect(html).not.toContain("<script");
    }
  });

  test("allows only the chosen frames", () => {
    expect(policyOf(pageHeaders(ENGLISH, []))).toContain("frame-ancestors 'none'");
    const embedded = pageHeaders(ENGLISH, ["https://a.example", "https://b.example:8443"]);
    expect(policyOf(embedded)).toContain(
      "frame-ancestors https://a.example https://b.example:8443;",
    );
    expect(embedded["x-robots-tag"]).toBe("noindex, nofollow");
  });
});

test("a page is rendered once in each language as long as its statistics are kept", () => {
  const view = toView();
  const [english, german] = [renderStatistics(view, ENGLISH), renderStatistics(view, GERMAN)];
  expect(renderStatistics(view, pageLanguageOf("en-GB,de"))).toBe(english);
  expect(renderStatistics(view, pageLanguageOf("fr,de;q=0.5"))).toBe(german);
  expect(german).not.toBe(english);
});

test("a German page has German texts, numbers, dates and names", () => {
  const breakdowns = [
    { by: "country", data: [{ values: { country: "DE" }, clicks: 1_234, percentage: 33.3 }] },
    { by: "os", data: [{ values: { os: "Unknown" }, clicks: 1, percentage: 1 }] },
    { by: "utm_source", data: [{ values: { utm_source: "Unknown" }, clicks: 1, percentage: 1 }] },
  ];
  const countries = [
    { country: "DE", clicks: 1_234 },
    { country: "FR", clicks: 1 },
  ];
  const change = { breakdowns, complete_from: "2026-01-02T00:00:00Z", timezone: "UTC" };
  const html = htmlOf(toView(change, { countries }), GERMAN);
  for (const text of [
    '<html lang="de" dir="ltr">',
    "<h2>Klicks im Zeitverlauf</h2>",
    '<span class="stat-value">12.345</span>',
    '<span class="stat-value">1,4</span>',
    "<title>1. Jan.: 5 Klicks, 2 eindeutige Besucher</title>",
    '<span class="breakdown-name">Deutschland</span>',
    '<span class="breakdown-share">33,3 %</span>',
    "<title>Frankreich: 1 Klick</title>",
    "<h2>Betriebssysteme</h2>",
    '<span class="breakdown-name">Unbekannt</span>',
    '<span class="breakdown-name">Unknown</span>',
    'aria-current="page">7 Tage</a>',
    "Die Aufschlüsselungen zählen Klicks ab 02.01.2026.",
  ])
    expect(html).toContain(text);
});

/** Opens a page of shared statistics whose reading fails. */
async function openFailing(language: typeof ENGLISH, error: ApiError) {
  const fail = () => Promise.reject(error);
  const share = { embed_origins: [] } as never;
  const part = { find: () => Promise.resolve(share), read: fail, unlock: fail };
  const pages = new SharedPages(fakeService("shared", part), true);
  const visit = { token: "x", language };
  return await Promise.all([pages.show(visit, "", {}), pages.unlock(visit, "", "")]);
}

const FAILURES: readonly ApiError[] = [
  notFound("share"),
  invalidField("timezone", "must be an IANA time zone"),
  invalidField("start_date", "must be a date"),
  invalidField("end_date", "must be a date"),
  invalidField("period", "must be one of these"),
  ...(["unauthorized", "forbidden", "unavailable", "rate_limited"] satisfies ErrorCode[]).map(
    (reason) => new ApiError(reason, "The message of the API.", { retryAfterSeconds: 7 }),
  ),
];

test("why there are no statistics is said in the language of the page", async () => {
  for (const error of FAILURES) {
    const [shown, unlocked] = await openFailing(GERMAN, error);
    for (const { status, headers, body } of [shown, unlocked]) {
      expect(status).toBe(error.status);
      expect(headers["content-language"]).toBe("de");
      expect(body).toContain('<html lang="de" dir="ltr">');
      expect(body).not.toContain(error.message);
    }
  }
  const limited = new ApiError("rate_limited", "", { retryAfterSeconds: 1 });
  const [shown, unlocked] = await openFailing(GERMAN, limited);
  expect(shown.body).toContain("Der nächste kann in 1 Sekunde abgerufen werden.");
  expect(unlocked.body).toContain("Bitte versuchen Sie es in 1 Sekunde noch einmal.");
});

/** A breakdown with these values. */
const breakdownOf = (by: string, ...values: string[]) => ({
  by,
  data: values.map((value) => ({ values: { [by]: value }, clicks: 1, percentage: 1 })),
});

test("all texts of the pages are in the catalogue, and every text of the catalogue is on one", async () => {
  const marked = new MarkedCatalogue();
  const { catalogue } = marked;
  const language = toPageLanguage("en", catalogue);
  const data = [{ values: {}, clicks: 4, percentage: 80 }];
  const clicks_over_time = [
    { date: "2026-01-01T10:00", clicks: 5, unique: 2 },
    { date: "2026-01-01T11:00", clicks: 1, unique: 1, unfinished: true as const },
  ];
  const common = { name: null, short_url: null, timezone: "7", clicks_over_time };
  const countries = ["DE", "FR", "US", "GB", "IN", "BR"].map((country) => ({ country, clicks: 1 }));
  const views = [
    toView({ ...common, breakdowns: COLUMN_FILTERS.map((by) => ({ by, data })) }),
    toView({ ...common, breakdowns: COLUMN_FILTERS.map((by) => ({ by, data: [] })) }),
    toView(
      {
        ...common,
        complete_from: "2026-01-02T00:00:00Z",
        breakdowns: [
          breakdownOf("device", "mobile", "desktop", "tablet", "other", ""),
          breakdownOf("trigger", "link", "qr"),
          breakdownOf("imported", "no", "yes"),
          breakdownOf("continent", "AF", "AN", "AS", "EU", "NA", "OC", "SA", ""),
          breakdownOf("browser", "Unknown"),
          breakdownOf("referrer", "direct"),
          breakdownOf("country", "ZZ"),
        ],
      },
      { countries, brand: { name: null, color: null, logo: Buffer.from("image") } },
    ),
  ];
  const pages = views.map((view) => htmlOf(view, language));
  for (const error of FAILURES)
    for (const { body } of await openFailing(language, error))
      if (typeof body === "string") pages.push(body);
  const named = ["Germany", "France", "United States", "United Kingdom", "India", "Brazil"];
  for (const html of pages) {
    expect(listWords(html, ["Jan 2, 2026", ...named])).toEqual([]);
    expect(html).toMatch(/<title>\[\d+\]<\/title>/);
  }
  // The dashboard alone compares periods, and shows bots.
  const dashboard = /\.(?:bots|clicksBefore|before|people|botClass|prefetches)$/;
  const unused = [...marked.listUnused("shares", pages), ...marked.listUnused("statistics", pages)];
  expect(unused.filter((name) => !dashboard.test(name))).toEqual([]);
});

test("the script has no text of its own", () => {
  const [script = ""] = contentsOf(htmlOf(toView()), "script");
  const strings = [...script.matchAll(/"([^"]*)"|`([^`]*)`/g)].map(([, a, b]) => a ?? b ?? "");
  expect(strings).toContain("aria-label");
  expect(strings.filter((each) => /\p{L}\p{L} +\p{L}|\p{L}[.:,!?]( |$)/u.test(each))).toEqual([]);
});

test("a page with a map takes less than 30 KB", () => {
  const data = [{ values: { country: "DE" }, clicks: 9, percentage: 90 }];
  const countries = ["DE", "FR", "US", "GB", "IN", "BR"].map((country) => ({ country, clicks: 1 }));
  const view = toView({ breakdowns: [{ by: "country", data }] }, { countries });
  expect(renderStatistics(view, ENGLISH).gzip.length).toBeLessThan(30_000);
});
