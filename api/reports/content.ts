/** Computes what a report says of a period. */
import { encodeId, type Uuid } from "../../shared/ids.ts";
import type { ReportContent } from "../../shared/reports/content.ts";
import type { FailureService } from "../analytics/failures/service.ts";
import type { SummaryRequest } from "../analytics/model.ts";
import type { Summary } from "../analytics/responses.ts";
import type { AnalyticsService } from "../analytics/service.ts";
import { type Reader, readLinkNames } from "../analytics/top-links.ts";
import type { ClicksReader } from "../clickhouse.ts";
import type { LinkService } from "../links/service.ts";
import type { ReportRow } from "./model.ts";
import type { ReportedPeriod } from "./schedule.ts";

/** Entries of each list of a report. */
const ENTRIES = 5;

/** Computes reports from statistics, which the account of a report pays for. */
export class ReportStatistics {
  readonly #analytics: AnalyticsService;
  readonly #failures: FailureService;
  readonly #links: LinkService;

  constructor(analytics: AnalyticsService, failures: FailureService, links: LinkService) {
    this.#analytics = analytics;
    this.#failures = failures;
    this.#links = links;
  }

  /** Computes a report of a period that is over; throws `not_found` when its link is gone. */
  async compute(
    report: ReportRow,
    { first_day, last_day, from, to }: ReportedPeriod,
  ): Promise<ReportContent> {
    const { id, name, tag, link_id, period, timezone, language } = report;
    const reader = { ...payerOf(report), scopes: ["links:read"] };
    const subject = link_id === null ? ("account" as const) : { link: link_id };
    const days = { start_date: first_day, end_date: last_day, timezone: timezone };
    const query = { ...days, ...(tag === null ? {} : { tag: { anyOf: [tag], noneOf: [] } }) };
    const compared = { ...query, compare: "previous" as const };
    const [counts, geo, { referrers }, failures, link] = await Promise.all([
      link_id === null
        ? this.#analytics.account(reader, { ...compared, limit: ENTRIES })
        : this.#countLink(reader, link_id, compared),
      this.#analytics.geo(reader, subject, { ...query, group_by: "country", limit: ENTRIES }),
      this.#analytics.referrers(reader, subject, { ...query, limit: ENTRIES }),
      this.#countFailures(report, days),
      this.#findLink(reader, link_id),
    ]);
    return {
      id: encodeId("rpt", id),
      name,
      tag,
      link,
      period,
      first_day,
      last_day,
      from: new Date(from).toISOString(),
      to: new Date(to).toISOString(),
      timezone,
      language,
      ...compareTotals(counts),
      top_links: counts.top_links,
      countries: geo.group_by === "country" ? geo.data.map(toCountry) : [],
      referrers: referrers.map(({ source, clicks }) => ({ referrer: source, clicks })),
      failures,
    };
  }

  /** The counts of a link, in the form of those of an account. */
  async #countLink(owner: ClicksReader, link: Uuid, query: SummaryRequest) {
    return { ...(await this.#analytics.summary(owner, { link }, query)), top_links: [] };
  }

  /** Failed requests are not counted by tag. */
  async #countFailures(
    report: ReportRow,
    days: { start_date: string; end_date: string; timezone: string },
  ): Promise<ReportContent["failures"]> {
    const { tag, link_id } = report;
    if (tag !== null) return null;
    const link = link_id === null ? {} : { link_id: encodeId("link", link_id) };
    const request = { ...days, ...link, limit: 1 };
    return (await this.#failures.count(payerOf(report), request)).summary;
  }

  async #findLink(reader: Reader, uuid: ReportRow["link_id"]): Promise<ReportContent["link"]> {
    if (uuid === null) return null;
    const link_id = encodeId("link", uuid);
    return { link_id, ...(await readLinkNames(this.#links, reader, [link_id]))(link_id) };
  }
}

/** The account of the report pays for what it takes, also when nobody asks for it. */
const payerOf = ({ account_id: accountId, mode, plan }: ReportRow) =>
  ({ accountId, mode, plan, paysWith: "report_statistics" }) as const;

const toCountry = ({ country, clicks }: { country: string; clicks: number }) => ({
  country,
  clicks,
});

function compareTotals({ summary, comparison }: Summary) {
  if (comparison === undefined) throw new Error("A comparison was queried.");
  const { summary: before, change } = comparison;
  const compare = (field: "total_clicks" | "unique_clicks") => ({
    total: summary[field],
    before: before[field],
    change: change[field],
  });
  return {
    clicks: compare("total_clicks"),
    unique_clicks: compare("unique_clicks"),
    bot_clicks: summary.bot_clicks,
  };
}
