/** Breakdowns of a link's human clicks by what a click was: where, with what, from where. */
import type { ClickHouseClient } from "@clickhouse/client";

import type { Uuid } from "../../shared/ids.ts";
import type { Range } from "./period.ts";

/** Columns a breakdown may be by; they go into the statement as they are. */
export type Dimension =
  "country" | "region" | "region_name" | "city" | "device" | "browser" | "os" | "referrer";

export type BreakdownRow<Column extends string> = Record<Column, string> & {
  clicks: number;
  /** Share of all clicks of the breakdown, shown or not, with one decimal. */
  percentage: number;
};

/** The values with the most clicks; of equals in the order of their names. */
export async function breakDown<Column extends Dimension>(
  clickhouse: ClickHouseClient,
  linkId: Uuid,
  range: Pick<Range, "from" | "to">,
  columns: readonly Column[],
  limit: number,
): Promise<BreakdownRow<Column>[]> {
  const names = columns.join(", ");
  const result = await clickhouse.query({
    query: `
      SELECT ${names}, count() AS clicks, sum(count()) OVER () AS total
        FROM clicks
       WHERE link_id = {link_id: UUID}
         AND ts >= fromUnixTimestamp64Milli({from: Int64})
         AND ts < fromUnixTimestamp64Milli({to: Int64})
         AND class = 'human'
       GROUP BY ${names}
       ORDER BY clicks DESC, ${names}
       LIMIT {limit: UInt32}`,
    query_params: { link_id: linkId, from: range.from, to: range.to, limit },
    format: "JSONEachRow",
  });
  const rows = await result.json<Record<Column, string> & { clicks: string; total: string }>();
  return rows.map(({ total, ...row }) => ({
    ...row,
    clicks: Number(row.clicks),
    percentage: Math.round((Number(row.clicks) / Number(total)) * 1_000) / 10,
  }));
}

const countryNames = new Intl.DisplayNames(["en"], { type: "region", fallback: "none" });

/** The English name of a two-letter country code, by Unicode's CLDR; `Unknown` for ZZ. */
export const countryName = (code: string): string =>
  code === "ZZ" ? UNKNOWN : (countryNames.of(code) ?? code);

const UNKNOWN = "Unknown";

/** Text that is empty where the GeoIP data knows nothing. */
export const orUnknown = (text: string): string => (text === "" ? UNKNOWN : text);
