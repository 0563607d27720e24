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

export type ContentDeps = {
  analytics: Pick<AnalyticsService, "summary" | "account" | "geo" | "referrers">;
  failures: Pick<FailureService, "count">;
  links: Pick<LinkService, "getNames">;
};

/** Computes a report of a period that is over; throws `not_found` when its link is gone. */
export async function computeContent(
  deps: ContentDeps,
  report: ReportRow,
  { first_day, last_day, from, to }: ReportedPeriod,
): Promise<ReportContent> {
  const { analytics } = deps;
  const { id, name, tag, link_id, period, timezone, language } = report;
  const reader = { ...payerOf(report), scopes: ["links:read"] };
  const subject = link_id === null ? ("account" as const) : { link: link_id };
  const days = { start_date: first_day, end_date: last_day, timezone: timezone };
  const query = { ...days, ...(tag === null ? {} : { tag: { anyOf: [tag], noneOf: [] } }) };
  const compared = { ...query, compare: "previous" as const };
  const [counts, geo, { referrers }, failures, link] = await Promise.all([
    link_id === null
      ? analytics.account(reader, { ...compared, limit: ENTRIES })
      : countLink(deps, reader, link_id, compared),
    analytics.geo(reader, subject, { ...query, group_by: "country", limit: ENTRIES }),
    analytics.referrers(reader, subject, { ...query, limit: ENTRIES }),
    countFailures(deps, report, days),
    findLink(deps, reader, link_id),
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

/** The account of the report pays for what it takes, also when nobody asks for it. */
const payerOf = ({ account_id: accountId, mode, plan }: ReportRow) =>
  ({ accountId, mode, plan, paysWith: "report_statistics" }) as const;

/** The counts of a link, in the form of those of an account. */
const countLink = async (
  { analytics }: ContentDeps,
  owner: ClicksReader,
  link: Uuid,
  query: SummaryRequest,
) => ({ ...(await analytics.summary(owner, { link }, query)), top_links: [] });

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

/** Failed requests are not counted by tag. */
async function countFailures(
  { failures }: ContentDeps,
  report: ReportRow,
  days: { start_date: string; end_date: string; timezone: string },
): Promise<ReportContent["failures"]> {
  const { tag, link_id } = report;
  if (tag !== null) return null;
  const link = link_id === null ? {} : { link_id: encodeId("link", link_id) };
  return (await failures.count(payerOf(report), { ...days, ...link, limit: 1 })).summary;
}

async function findLink(
  { links }: ContentDeps,
  reader: Reader,
  uuid: ReportRow["link_id"],
): Promise<ReportContent["link"]> {
  if (uuid === null) return null;
  const link_id = encodeId("link", uuid);
  return { link_id, ...(await readLinkNames(links, reader, [link_id]))(link_id) };
}
