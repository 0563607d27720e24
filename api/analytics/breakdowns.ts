/** Breaks down the clicks of a link or an account by location, device or referrer. */
import { type ClickHouse, queryRows } from "../../shared/clicks/rollups.ts";
import type { AccountScope } from "../http/principal.ts";
import { type BreakdownScope, type Dimension, fromDimensions } from "./dimensions.ts";
import { allOf, type Condition, needsRawClicks, type Selection, UNKNOWN } from "./filters.ts";
import type { CountedLink } from "./queries.ts";
import { accountLinks, type QueryRange } from "./sources.ts";

export type BreakdownRow = {
  value: string;
  /** The enclosing country and region where the dimension needs them to be unique, else empty. */
  country: string;
  region: string;
  region_name: string;
  clicks: number;
  /** Share of all clicks of the dimension, including values beyond the limit; one decimal. */
  percentage: number;
};

/** A link's clicks that are selected. */
export const linkScope = ({ id, lowVolume }: CountedLink, selection: Selection): BreakdownScope => {
  const link = { condition: "link_id = {link_id: UUID}", params: { link_id: id } };
  const subject = { condition: "subject_id = {link_id: UUID}", params: {} };
  return {
    ...scopeOf(selection, link, selection.links, selection.columns),
    subjects: allOf(subject, selection.subjects).condition,
    lowVolume,
  };
};

/** Those of all links of an account in one mode, including deleted ones. */
export const accountScope = (
  { accountId, mode }: AccountScope,
  range: Pick<QueryRange, "from" | "to">,
  selection: Selection,
): BreakdownScope => {
  const account = {
    condition: "account_id = {account_id: UUID} AND mode = {mode: String}",
    params: { account_id: accountId, mode },
  };
  const links = accountLinks(range, !selection.classes.every((name) => name === "human"));
  const subjects =
    selection.subjects === undefined
      ? { condition: "subject_id = {account_id: UUID} AND mode = {mode: String}", params: {} }
      : allOf(
          { condition: "mode = {mode: String}", params: {} },
          accountLinks(range, false, "subject_id"),
          selection.subjects,
        );
  return {
    ...scopeOf(selection, account, links, selection.links, selection.columns),
    subjects: subjects.condition,
    lowVolume: false,
  };
};

function scopeOf(
  selection: Selection,
  ...conditions: readonly (Condition | undefined)[]
): Pick<BreakdownScope, "condition" | "params" | "onlyRaw"> {
  const { condition, params } = allOf(...conditions);
  return {
    condition,
    params: { ...params, classes: selection.classes },
    onlyRaw: needsRawClicks(selection),
  };
}

/** Returns the values of each dimension with the most clicks; ties sort by displayed name. */
export async function breakDown<Name extends Dimension>(
  clickhouse: ClickHouse,
  scope: BreakdownScope,
  range: Pick<QueryRange, "from" | "to" | "rawFrom">,
  dimensions: readonly Name[],
  limit: number,
): Promise<Record<Name, BreakdownRow[]>> {
  const source = fromDimensions(scope, dimensions, range);
  const rows = await queryRows<Row<Name>>(
    clickhouse,
    `SELECT dimension, value, country, region, region_name, count, total
       FROM (
         SELECT name AS dimension, value,
                if(name IN ('region', 'city'), rows.country, '') AS country,
                if(name = 'city', rows.region, '') AS region,
                if(name = 'region', rows.region_name, '') AS region_name,
                sum(clicks) AS count, sum(sum(clicks)) OVER (PARTITION BY dimension) AS total
           FROM ${source.from} AS rows
          GROUP BY dimension, value, country, region, region_name
       )
      ORDER BY dimension, count DESC, ${["value", "region_name", "region"].map(displayName).join(", ")}, country
      LIMIT {limit: UInt32} BY dimension`,
    { ...source.params, limit },
  );
  const breakdowns = Object.fromEntries(
    dimensions.map((name) => [name, new Array<BreakdownRow>()]),
  );
  for (const { dimension, total, count, ...row } of rows) {
    const clicks = Number(count);
    const percentage = percentageOf(clicks, Number(total));
    breakdowns[dimension]?.push({ ...row, clicks, percentage });
  }
  // fromEntries created one list per dimension.
  return breakdowns as Record<Name, BreakdownRow[]>;
}

type Row<Name> = Record<
  "value" | "country" | "region" | "region_name" | "count" | "total",
  string
> & {
  dimension: Name;
};

/** The name under which clients see a value. */
const displayName = (column: string): string => `if(${column} = '', '${UNKNOWN}', ${column})`;

const countryNames = new Intl.DisplayNames(["en"], { type: "region", fallback: "none" });

/** The English name of a two-letter country code from Unicode CLDR; `Unknown` for ZZ. */
export const countryName = (code: string): string =>
  code === "ZZ" ? UNKNOWN : (countryNames.of(code) ?? code);

/** Replaces the empty text of unknown locations by `Unknown`. */
export const orUnknown = (text: string): string => (text === "" ? UNKNOWN : text);

/** A share in percent, with one decimal. */
export const percentageOf = (part: number, total: number): number =>
  Math.round((part / total) * 1_000) / 10;
