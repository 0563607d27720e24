/** Goal: the page of shared statistics runs nothing, shows texts as texts, and can be framed only where its owner allows. */
import { expect, test } from "bun:test";

import type { SharedStatistics } from "../model.ts";
import { pageHeaders, renderMessage, renderStatistics } from "./page.ts";

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
    { date: HOSTILE, clicks: 5, unique: 2 },
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

test("texts of owners and visitors are shown as they are, and never become markup", () => {
  const html = renderStatistics(statistics, "token");
  expect(html).not.toContain("<script");
  expect(html).not.toContain(HOSTILE);
  expect(html.match(/&quot;&gt;&lt;script&gt;alert\(1\)&lt;\/script&gt;&amp;&#39;/g)).toHaveLength(
    7,
  );
  expect(html).toContain("12,345");
  expect(renderMessage(HOSTILE)).not.toContain("<script");
});

test("a page without clicks has a chart and no division by zero", () => {
  const html = renderStatistics(
    { ...statistics, clicks_over_time: [{ date: "2026-01-01", clicks: 0, unique: 0 }] },
    "token",
  );
  expect(html).not.toContain("NaN");
});

test.each([
  ["country", "DE", "Germany"],
  ["language", "de", "German"],
  ["language", "", "none"],
  ["referrer", "xn--bcher-kva.de", "bücher.de"],
  ["host", "xn--80ak6aa92e.com", "xn--80ak6aa92e.com"],
])("a %s of %p is shown as %p", (by, value, text) => {
  const data = [{ values: { [by]: value }, clicks: 1, percentage: 100 }];
  const html = renderStatistics({ ...statistics, breakdowns: [{ by, data }] }, "token");
  expect(html).toContain(`<tr><td>${text}</td>`);
});

test("what is not over is marked, and clicks a day are of the time that has passed", () => {
  const html = renderStatistics(
    {
      ...statistics,
      clicks_over_time: [
        { date: "2026-01-01", clicks: 9, unique: 9 },
        { date: "2026-01-02", clicks: 1, unique: 1, unfinished: true },
      ],
    },
    "token",
  );
  expect(html.match(/<rect [^>]*class="unfinished"[^>]*><title>[^<]*/g)).toEqual([
    expect.stringContaining("2026-01-02: 1 so far"),
  ]);
  expect(html).toContain("<dd>1.4</dd>");
});

test("the policy allows no script, only the page's own style, and only the chosen frames", async () => {
  const style = /<style>(.*?)<\/style>/s.exec(renderMessage(""))?.[1] ?? "";
  const hash = new Bun.CryptoHasher("sha256").update(style).digest("base64");
  const policy = pageHeaders([])["content-security-policy"];
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain(`style-src 'sha256-${hash}'`);
  expect(policy).toContain("frame-ancestors 'none'");
  const embedded = pageHeaders(["https://a.example", "https://b.example:8443"]);
  expect(embedded["content-security-policy"]).toContain(
    "frame-ancestors https://a.example https://b.example:8443;",
  );
  expect(embedded["x-robots-tag"]).toBe("noindex, nofollow");
});
