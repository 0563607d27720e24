/** Breakdowns of the human clicks of a link, or of an account, by what a click was: where, with what, from where. */
import { askRows, type ClickHouse } from "../../shared/clicks/rollups.ts";
import type { Mode } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { CountedLink } from "./queries.ts";
import {
  ACCOUNT_LINKS,
  accountLinksParams,
  type AskedRange,
  bounded,
  BY_DIMENSION,
  dayParams,
  dayParts,
  RAW_RANGE,
} from "./sources.ts";

const UNKNOWN = "Unknown";

export type Dimension = "country" | "region" | "city" | "browser" | "os" | "device" | "referrer";

export type BreakdownRow = {
  value: string;
  /** Where the value lies; empty where that tells nothing apart. */
  country: string;
  region: string;
  region_name: string;
  clicks: number;
  /** Share of all clicks of the breakdown, shown or not, with one decimal. */
  percentage: number;
};

/** Whose clicks: a WHERE clause with its parameters, and whether there are few. */
export type BrokenDown = { condition: string; params: Record<string, unknown>; few: boolean };

type AskedSpan = Pick<AskedRange, "from" | "to" | "held">;

export const ofLink = ({ id, few }: CountedLink): BrokenDown => ({
  condition: "link_id = {link_id: UUID}",
  params: { link_id: id },
  few,
});

/** All links of an account in one mode, deleted ones included. */
export const ofAccount = (
  { accountId, mode }: { accountId: Uuid; mode: Mode },
  range: AskedSpan,
): BrokenDown => ({
  condition: `account_id = {account_id: UUID} AND mode = {mode: String} AND ${ACCOUNT_LINKS}`,
  params: { account_id: accountId, mode, ...accountLinksParams(range) },
  few: false,
});

/** The values of each dimension with the most clicks; of equals in the order of their names. */
export async function breakDown<Name extends Dimension>(
  clickhouse: ClickHouse,
  subject: BrokenDown,
  range: AskedSpan,
  dimensions: readonly Name[],
  limit: number,
): Promise<Record<Name, BreakdownRow[]>> {
  const names = dimensions.map((name) => `'${name}'`).join(", ");
  const condition = `${subject.condition} AND dimension IN (${names})`;
  const parts = subject.few && range.held ? undefined : dayParts(range);
  const rows = await askRows<Row<Name>>(
    clickhouse,
    `SELECT dimension, value, country, region, region_name, count, total
       FROM (
         SELECT toString(dimension) AS dimension, value,
                if(dimension IN ('region', 'city'), rows.country, '') AS country,
                if(dimension = 'city', rows.region, '') AS region,
                if(dimension = 'region', rows.region_name, '') AS region_name,
                sum(clicks) AS count, sum(sum(clicks)) OVER (PARTITION BY dimension) AS total
           FROM ${parts === undefined ? ofClicks(subject, dimensions) : BY_DIMENSION(condition)} AS rows
          GROUP BY dimension, value, country, region, region_name
       )
      ORDER BY dimension, count DESC, ${["value", "region_name", "region"].map(shown).join(", ")}, country
      LIMIT {limit: UInt32} BY dimension`,
    {
      ...subject.params,
      limit,
      ...(parts === undefined
        ? { from: bounded(range.from), to: bounded(range.to) }
        : dayParams(range, parts)),
    },
  );
  const found = Object.fromEntries(dimensions.map((name) => [name, new Array<BreakdownRow>()]));
  for (const { dimension, total, count, ...row } of rows) {
    const clicks = Number(count);
    const percentage = Math.round((clicks / Number(total)) * 1_000) / 10;
    found[dimension]?.push({ ...row, clicks, percentage });
  }
  // Every dimension has its list.
  return found as Record<Name, BreakdownRow[]>;
}

type Row<Name> = Record<
  "value" | "country" | "region" | "region_name" | "count" | "total",
  string
> & {
  dimension: Name;
};

/** Single clicks in the form of the rollups. The names go into it as they are. */
const ofClicks = ({ condition }: BrokenDown, dimensions: readonly Dimension[]): string => `(
  SELECT row.1 AS dimension, row.2 AS value, country, region, region_name, 1 AS clicks
    FROM (
      SELECT arrayJoin([${dimensions.map((name) => `('${name}', toString(${name}))`).join(", ")}]) AS row,
             country, region, region_name
        FROM clicks
       WHERE ${condition} AND class = 'human' AND ${RAW_RANGE}
    )
)`;

/** Values rank by the name they are shown under. */
const shown = (column: string): string => `if(${column} = '', '${UNKNOWN}', ${column})`;

const countryNames = new Intl.DisplayNames(["en"], { type: "region", fallback: "none" });

/** The English name of a two-letter country code, by Unicode's CLDR; `Unknown` for ZZ. */
export const countryName = (code: string): string =>
  code === "ZZ" ? UNKNOWN : (countryNames.of(code) ?? code);

/** Text that is empty where the GeoIP data knows nothing. */
export const orUnknown = (text: string): string => (text === "" ? UNKNOWN : text);
