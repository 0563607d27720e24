/**
 * Clicks by target: the destination that the link's rules and arms chose. Read from raw clicks,
 * while they are retained.
 */
import * as z from "zod";

import { type ClickHouse, queryRows } from "../../shared/clicks/rollups.ts";
import type { ClickTarget } from "../../shared/contracts/click-record.ts";
import { destination, targetFields } from "../../shared/contracts/link-fields.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { formatUuid } from "../../shared/uuid-bytes.ts";
import { entriesOf } from "../http/pagination.ts";
import type { LinkRow } from "../links/model.ts";
import { percentageOf } from "./breakdowns.ts";
import type { BreakdownScope } from "./dimensions.ts";
import { clicks, completeFrom, linkId, percentage, uniqueClicks } from "./response-fields.ts";
import { clampInstant, type QueryRange, RAW_RANGE } from "./sources.ts";
import { countVisitors } from "./visitors.ts";

/** More than the rules and arms of any link in practice; those with the most clicks come first. */
const TARGETS_MAX = 1_000;

export const targetsResponse = z
  .object({
    link_id: linkId,
    data: entriesOf(
      z.object({
        ...targetFields,
        label: z
          .string()
          .nullable()
          .meta({
            description: "The label of an arm of the split; null when it has none.",
            examples: ["New page"],
          }),
        url: destination.nullable().meta({
          description: "The destination; null for a rule or arm that the link no longer has.",
        }),
        clicks,
        unique_clicks: uniqueClicks,
        percentage,
      }),
    ),
    ...completeFrom,
  })
  .meta({ id: "LinkTargets", description: "The clicks of a link by rule and arm." });

export type TargetsResponse = z.output<typeof targetsResponse>;

type Row = { target: string; clicks: string; visitors: string };

const totalOf = (rows: readonly Row[]): number =>
  rows.reduce((sum, { clicks }) => sum + Number(clicks), 0);

/** Counts a link's selected clicks in a range by target. */
export async function countTargets(
  clickhouse: ClickHouse,
  link: Pick<LinkRow, "extras" | "original_url">,
  { condition, params, isFew }: BreakdownScope,
  { from, to }: QueryRange,
): Promise<TargetsResponse["data"]> {
  const query = (visitors: string) =>
    queryRows<Row>(
      clickhouse,
      `SELECT target, count() AS clicks, ${visitors} AS visitors
         FROM clicks
        WHERE ${condition} AND class IN {classes: Array(String)} AND ${RAW_RANGE}
        GROUP BY target
        ORDER BY count() DESC, target
        LIMIT {limit: UInt32}`,
      { ...params, from: clampInstant(from), to: clampInstant(to), limit: TARGETS_MAX },
    );
  const rows = await countVisitors(query, totalOf, () => isFew(clickhouse, { from, to }));
  const targets = targetsOf(link);
  const total = totalOf(rows);
  return rows.map(({ target, clicks, visitors }) => ({
    ...describe(target, targets, link.original_url),
    clicks: Number(clicks),
    unique_clicks: Number(visitors),
    percentage: percentageOf(Number(clicks), total),
  }));
}

/** What a link says of one of its rules or arms. */
type Known = { url: string; label?: string | undefined };

/** A link's rules and arms by id. */
const targetsOf = ({ extras }: Pick<LinkRow, "extras">): Map<string, Known> =>
  new Map(
    [...(extras?.rules ?? []), ...(extras?.split?.arms ?? [])].map((each) => [each.id, each]),
  );

function describe(target: string, targets: ReadonlyMap<string, Known>, ownUrl: string) {
  if (target === "") return { kind: "default" as const, id: null, label: null, url: ownUrl };
  const kind: ClickTarget["kind"] = target.startsWith("arm:") ? "arm" : "rule";
  const uuid: Uuid = formatUuid(target.slice(target.indexOf(":") + 1));
  const id = encodeId(kind, uuid);
  const { label = null, url = null } = targets.get(id) ?? {};
  return { kind, id, label, url };
}
