/** Answers questions about the clicks of a link its asker owns. */
import type { ClickHouseClient } from "@clickhouse/client";

import { encodeId, type Uuid } from "../../shared/ids.ts";
import type { LinkService } from "../links/service.ts";
import type { Summary } from "./model.ts";
import { type PeriodQuery, resolveRange } from "./period.ts";
import { countClicks } from "./queries.ts";

type AnalyticsServiceDeps = { clickhouse: ClickHouseClient; links: LinkService };

export type AnalyticsService = ReturnType<typeof createAnalyticsService>;

export function createAnalyticsService({ clickhouse, links }: AnalyticsServiceDeps) {
  /** Totals and time series of a link; throws `not_found` and `invalid_request`. */
  async function summary(
    owner: Parameters<LinkService["get"]>[0],
    id: Uuid | undefined,
    query: PeriodQuery,
  ): Promise<Summary> {
    const link = await links.get(owner, id);
    const range = resolveRange(query, link.created_at.getTime(), Date.now());
    const { total, buckets } = await countClicks(clickhouse, link.id, range);
    return {
      link_id: encodeId("link", link.id),
      period: range.period,
      summary: {
        total_clicks: total.clicks,
        unique_clicks: total.unique,
        avg_daily_clicks: Math.round(total.clicks / range.days),
        bot_clicks: total.bots,
      },
      clicks_over_time: range.buckets.map(({ label, start }) => ({
        date: label,
        clicks: buckets.get(start)?.clicks ?? 0,
        unique: buckets.get(start)?.unique ?? 0,
      })),
    };
  }

  return { summary };
}
