/** A report, as events have it. */
import type { ReportContent } from "../../shared/reports/content.ts";

export const REPORT_CONTENT: ReportContent = {
  id: "rpt_01k9z3v6x7e8w9r0t1y2n3h4m5",
  name: "Monday numbers",
  tag: null,
  link: null,
  period: "weekly",
  first_day: "2026-02-23",
  last_day: "2026-03-01",
  from: "2026-02-22T23:00:00.000Z",
  to: "2026-03-01T23:00:00.000Z",
  timezone: "Europe/Berlin",
  language: "en",
  clicks: { total: 1_312, before: 1_260, change: 4.1 },
  unique_clicks: { total: 187, before: 0, change: null },
  bot_clicks: 41,
  top_links: [
    { link_id: "link_1", short_url: "https://sho.rt/a", title: "Spring sale", clicks: 1_120 },
    { link_id: "link_2", short_url: "https://sho.rt/b", title: null, clicks: 20 },
    { link_id: "link_3", short_url: null, title: null, clicks: 3 },
  ],
  countries: [
    { country: "DE", clicks: 200 },
    { country: "ZZ", clicks: 1 },
  ],
  referrers: [
    { referrer: "direct", clicks: 150 },
    { referrer: "example.com", clicks: 3 },
  ],
  failures: {
    total: 9,
    unknown_alias: 5,
    expired: 4,
    limit_reached: 0,
    wrong_password: 0,
    disabled: 0,
    not_started: 0,
  },
};
