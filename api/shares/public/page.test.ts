/** Goal: the page of shared statistics can be read without scripts, shows texts as texts, and can be framed only where its owner allows. */
import { describe, expect, test } from "bun:test";

import type { Brand } from "../../branding/model.ts";
import type { SharedStatistics, SharedView } from "../model.ts";
import { pageHeaders, renderMessage, renderPasswordForm } from "./document.ts";
import { renderStatistics } from "./page.tsx";

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

const htmlOf = (view: SharedView): string =>
  new TextDecoder().decode(Bun.gunzipSync(renderStatistics(view).gzip));

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
    expect(renderMessage(HOSTILE)).not.toContain("<script");
    expect(renderPasswordForm(HOSTILE)).not.toContain("<script");
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
  expect(html).toContain("<title>France: 1 clicks</title>");
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
    const policy = policyOf(pageHeaders([], renderStatistics(view).code));
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
    for (const html of [renderMessage("", { back: true }), renderPasswordForm("")]) {
      const policy = policyOf(pageHeaders([]));
      expect(contentsOf(html, "style").map(toHash)).toEqual([
        /style-src (\S+);/.exec(policy)?.[1] ?? "",
      ]);
      expect(policy).not.toContain("script-src");
      expect(html).not.toContain("<script");
    }
  });

  test("allows only the chosen frames", () => {
    expect(policyOf(pageHeaders([]))).toContain("frame-ancestors 'none'");
    const embedded = pageHeaders(["https://a.example", "https://b.example:8443"]);
    expect(policyOf(embedded)).toContain(
      "frame-ancestors https://a.example https://b.example:8443;",
    );
    expect(embedded["x-robots-tag"]).toBe("noindex, nofollow");
  });
});

test("a page is rendered once as long as its statistics are kept", () => {
  const view = toView();
  expect(renderStatistics(view)).toBe(renderStatistics(view));
});

test("a page with a map takes less than 30 KB", () => {
  const data = [{ values: { country: "DE" }, clicks: 9, percentage: 90 }];
  const countries = ["DE", "FR", "US", "GB", "IN", "BR"].map((country) => ({ country, clicks: 1 }));
  const view = toView({ breakdowns: [{ by: "country", data }] }, { countries });
  expect(renderStatistics(view).gzip.length).toBeLessThan(30_000);
});
