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

test("a page without clicks has a chart and no division by zero", () => {
  const empty = { clicks_over_time: [{ date: "2026-01-01", clicks: 0, unique: 0 }] };
  for (const change of [empty, { ...empty, breakdowns: [] }, { clicks_over_time: [] }]) {
    expect(htmlOf(toView(change))).not.toMatch(/NaN|Infinity/);
  }
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
