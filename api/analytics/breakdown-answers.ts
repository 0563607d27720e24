/** Breakdowns as clients see them, but for whose they are. */
import type { ClickHouse } from "../../shared/clicks/rollups.ts";
import {
  breakDown,
  type BreakdownRow,
  type BrokenDown,
  countryName,
  orUnknown,
} from "./breakdowns.ts";
import type {
  AccountDevicesAnswer,
  AccountGeoAnswer,
  AccountReferrersAnswer,
  GeoQuery,
} from "./model.ts";
import type { AskedRange } from "./sources.ts";

/** Devices, browsers and systems are few: all are told. */
const ALL_VALUES = 1_000;

export async function geoOf(
  clickhouse: ClickHouse,
  subject: BrokenDown,
  range: AskedRange,
  { group_by, limit }: GeoQuery,
): Promise<AccountGeoAnswer> {
  const found = await breakDown(clickhouse, subject, range, [group_by], limit);
  const data = found[group_by].map(({ value, country, region, region_name, ...figures }) => {
    if (group_by === "country")
      return { country: value, country_name: countryName(value), ...figures };
    return group_by === "city"
      ? { city: orUnknown(value), region: orUnknown(region), country, ...figures }
      : { region: orUnknown(value), region_name: orUnknown(region_name), country, ...figures };
  });
  return { group_by, data };
}

export async function devicesOf(
  clickhouse: ClickHouse,
  subject: BrokenDown,
  range: AskedRange,
): Promise<AccountDevicesAnswer> {
  const dimensions = ["device", "browser", "os"] as const;
  const found = await breakDown(clickhouse, subject, range, dimensions, ALL_VALUES);
  return {
    devices: found.device.map(({ value, clicks, percentage }) => ({
      type: value,
      clicks,
      percentage,
    })),
    browsers: found.browser.map(toNamed),
    os: found.os.map(toNamed),
  };
}

export async function referrersOf(
  clickhouse: ClickHouse,
  subject: BrokenDown,
  range: AskedRange,
  limit: number,
): Promise<AccountReferrersAnswer> {
  const { referrer } = await breakDown(clickhouse, subject, range, ["referrer"], limit);
  return {
    referrers: referrer.map(({ value, clicks, percentage }) => ({
      source: value,
      clicks,
      percentage,
    })),
  };
}

const toNamed = ({ value, clicks, percentage }: BreakdownRow) => ({
  name: value,
  clicks,
  percentage,
});
