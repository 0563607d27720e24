/** Whose clicks a query counts, and which of them: resolves owner, filters and range. */
import type { ClickChunks, ClickHouse } from "../../shared/clicks/query.ts";
import { DAY_MS } from "../../shared/durations.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { ClicksReader, ClicksSource } from "../clickhouse.ts";
import type { LinkRow } from "../links/model.ts";
import type { LinkService } from "../links/service.ts";
import type { SelectedClicks } from "./explore.ts";
import type { Selection } from "./filters.ts";
import type { AnalyticsQuery } from "./model.ts";
import { type PeriodQuery, resolveRange } from "./period.ts";
import { countAccountClicks, countClicks, type SummaryCounts } from "./queries.ts";
import { accountScope, linkScope } from "./scopes.ts";
import { resolveSelection } from "./selection.ts";
import { LOW_VOLUME_CLICKS, type QueryRange } from "./sources.ts";
import { completeFrom, type CurrentRange, rollupOf } from "./summary.ts";

/** One link of the caller's account, or all links of the account. */
export type Subject = { link: Uuid | undefined } | "account";

export type SubjectDeps = {
  clickhouse: ClicksSource;
  links: LinkService;
  /** Days for which raw clicks are retained; 0 keeps them for ever. */
  clicksRetentionDays: number;
};

/** The clicks of a subject that a query selects. */
export type SubjectClicks = SelectedClicks & {
  /** Where they are read, within the time that the account has. */
  clickhouse: ClickHouse & ClickChunks;
  range: CurrentRange;
  selection: Selection;
  /** When the counted clicks are complete, if filters need single clicks that have been deleted. */
  complete: { complete_from?: string };
  /** Counts the selected clicks of a range over time. */
  countIn: (range: QueryRange) => Promise<SummaryCounts>;
};

/**
 * Resolves the clicks that a query covers; throws `not_found`, `invalid_request` and
 * `rate_limited`.
 */
export const resolveClicks = async (
  deps: SubjectDeps,
  owner: ClicksReader,
  subject: Subject,
  query: AnalyticsQuery,
): Promise<SubjectClicks> =>
  subject === "account"
    ? await resolveAccountClicks(deps, owner, query)
    : await resolveLinkClicks(deps, owner, subject.link, query);

/** As {@link resolveClicks} for a link, with its row. */
export async function resolveLinkClicks(
  deps: SubjectDeps,
  owner: ClicksReader,
  id: Uuid | undefined,
  query: AnalyticsQuery,
): Promise<SubjectClicks & { row: LinkRow }> {
  const clickhouse = deps.clickhouse.for(owner);
  const row = await deps.links.get(owner, id);
  const selection = await resolveSelection(deps.links, owner, query);
  const range = resolveQueryRange(deps, query, row.created_at.getTime(), Date.now());
  const link = { id: row.id, lowVolume: row.clicks < LOW_VOLUME_CLICKS };
  return {
    clickhouse,
    row,
    range,
    selection,
    scope: linkScope(link, selection),
    rollup: rollupOf("clicks_15m", range, selection),
    complete: completeFrom(range, selection),
    countIn: (within) => countClicks(clickhouse, link, within, selection),
  };
}

async function resolveAccountClicks(
  deps: SubjectDeps,
  owner: ClicksReader,
  query: AnalyticsQuery,
): Promise<SubjectClicks> {
  const clickhouse = deps.clickhouse.for(owner);
  const [range, selection] = await Promise.all([
    resolveAccountRange(deps, owner, query),
    resolveSelection(deps.links, owner, query),
  ]);
  return {
    clickhouse,
    range,
    selection,
    scope: accountScope(owner, range, selection),
    rollup: rollupOf("clicks_15m_of_account", range, selection),
    complete: completeFrom(range, selection),
    countIn: (within) => countAccountClicks(clickhouse, owner, within, selection),
  };
}

async function resolveAccountRange(deps: SubjectDeps, owner: ClicksReader, query: PeriodQuery) {
  const now = Date.now();
  const first = await deps.links.getFirstCreationTime(owner);
  return resolveQueryRange(deps, query, first ?? now, now);
}

/** Resolves a range; `all` starts at `createdAt` (Unix milliseconds). Throws `invalid_request`. */
export function resolveQueryRange(
  { clicksRetentionDays }: Pick<SubjectDeps, "clicksRetentionDays">,
  query: PeriodQuery,
  createdAt: number,
  now: number,
): CurrentRange {
  const range = resolveRange(query, createdAt, now);
  const rawFrom = clicksRetentionDays === 0 ? -Infinity : now - clicksRetentionDays * DAY_MS;
  return { ...range, rawFrom, now };
}
