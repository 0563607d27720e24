/**
 * Clicks by target: the destination that the link's rules and arms chose. Read from raw clicks,
 * while they are retained.
 */
import type { ClickTarget } from "../../shared/contracts/click-record.ts";
import { encodeId, formatUuid } from "../../shared/ids.ts";
import type { LinkRow } from "../links/model.ts";
import { IN_CLASSES, RAW_RANGE, readWithVisitors, whereClicks } from "./plan.ts";
import { completeFrom, percentageOf, type TargetsResponse } from "./responses.ts";
import type { AnalyticsQuery } from "./scope.ts";

/** More than the rules and arms of any link in practice; those with the most clicks come first. */
const TARGETS_MAX = 1_000;

type Row = { target: string; clicks: string; visitors: string };

/** Returns the clicks of the query's link by target. */
export async function readTargets(
  query: AnalyticsQuery,
  link: LinkRow,
): Promise<Omit<TargetsResponse, "link_id">> {
  const totalOf = (rows: readonly Row[]) =>
    rows.reduce((sum, { clicks }) => sum + Number(clicks), 0);
  const rows = await readWithVisitors<Row>(
    query,
    (visitors) => `
      SELECT target, count() AS clicks, ${visitors} AS visitors
        FROM clicks
       WHERE ${whereClicks(query)} AND ${IN_CLASSES} AND ${RAW_RANGE}
       GROUP BY target
       ORDER BY count() DESC, target
       LIMIT {limit: UInt32}`,
    { limit: TARGETS_MAX },
    totalOf,
  );
  const { rules = [], split } = link.extras ?? {};
  const known = new Map([...rules, ...(split?.arms ?? [])].map((each) => [each.id, each]));
  const total = totalOf(rows);
  const data = rows.map(({ target, clicks, visitors }) => ({
    ...describe(target, known, link.original_url),
    clicks: Number(clicks),
    unique_clicks: Number(visitors),
    percentage: percentageOf(Number(clicks), total),
  }));
  return { data, ...completeFrom(query.range) };
}

/** Destination and label of a rule or an arm. */
type Known = { url: string; label?: string | undefined };

function describe(target: string, known: ReadonlyMap<string, Known>, ownUrl: string) {
  if (target === "") return { kind: "default" as const, id: null, label: null, url: ownUrl };
  const kind: ClickTarget["kind"] = target.startsWith("arm:") ? "arm" : "rule";
  const id = encodeId(kind, formatUuid(target.slice(target.indexOf(":") + 1)));
  const { label = null, url = null } = known.get(id) ?? {};
  return { kind, id, label, url };
}
