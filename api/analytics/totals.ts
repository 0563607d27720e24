/** Totals of a subject over time, alone or together with what else a page shows of it. */
import { encodeId } from "../../shared/ids.ts";
import type { ClicksReader } from "../clickhouse.ts";
import type { ColumnFilter } from "./filter-names.ts";
import { type Reader, readLinkNames } from "./link-names.ts";
import type { AccountQuery, AccountSummary, Summary, SummaryQuery } from "./model.ts";
import { findTopLinks } from "./queries.ts";
import { resolveClicks, type Subject, type SubjectClicks, type SubjectDeps } from "./subject.ts";
import { breakdownCompleteFrom, countSummary, incomplete } from "./summary.ts";
import { needsSingleClicks, readTopValues } from "./top-values.ts";

/** Counts the clicks that a query selects, and those of the period it compares them with. */
export const countOverTime = (query: SummaryQuery, clicks: SubjectClicks): Promise<Summary> =>
  countSummary(query, clicks.range, clicks.selection, clicks.countIn);

/** Returns totals and time series of an account, and its links with the most clicks. */
export async function countAccount(
  deps: SubjectDeps,
  reader: Reader,
  { limit, ...query }: AccountQuery,
): Promise<AccountSummary> {
  const selected = await resolveClicks(deps, reader, "account", query);
  const [series, top] = await Promise.all([
    countOverTime(query, selected),
    findTopLinks(selected.clickhouse, reader, selected.range, limit, selected.selection),
  ]);
  const ids = top.map(({ link_id }) => encodeId("link", link_id));
  const nameOf = await readLinkNames(deps.links, reader, ids);
  const top_links = top.map(({ link_id: uuid, clicks }) => {
    const link_id = encodeId("link", uuid);
    return { link_id, ...nameOf(link_id), clicks };
  });
  return { ...series, top_links, ...breakdownCompleteFrom(selected.range, selected.selection) };
}

/** Returns totals, time series and the top values of each dimension. */
export async function readOverview(
  deps: SubjectDeps,
  owner: ClicksReader,
  subject: Subject,
  query: SummaryQuery,
  { dimensions, limit }: { dimensions: readonly ColumnFilter[]; limit: number },
) {
  const clicks = await resolveClicks(deps, owner, subject, query);
  const [series, breakdowns] = await Promise.all([
    countOverTime(query, clicks),
    readTopValues(clicks.clickhouse, clicks, dimensions, limit),
  ]);
  const { period, summary, clicks_over_time } = series;
  const complete = needsSingleClicks(dimensions)
    ? incomplete(clicks.range)
    : breakdownCompleteFrom(clicks.range, clicks.selection);
  return { period, summary, clicks_over_time, breakdowns, ...complete };
}
