/** Breakdown responses, without `link_id`. */
import type { ClickHouse } from "../../shared/clicks/rollups.ts";
import {
  breakDown,
  type BreakdownRow,
  type BreakdownScope,
  countryName,
  orUnknown,
} from "./breakdowns.ts";
import type {
  AccountDevicesResponse,
  AccountGeoResponse,
  AccountReferrersResponse,
  GeoQuery,
} from "./model.ts";
import type { QueryRange } from "./sources.ts";

/** Far more than there are devices, browsers and operating systems: the response contains all of them. */
const ALL_VALUES = 1_000;

export async function breakDownGeo(
  clickhouse: ClickHouse,
  scope: BreakdownScope,
  range: QueryRange,
  { group_by, limit }: GeoQuery,
): Promise<AccountGeoResponse> {
  const breakdowns = await breakDown(clickhouse, scope, range, [group_by], limit);
  const data = breakdowns[group_by].map(({ value, country, region, region_name, ...counts }) => {
    if (group_by === "country")
      return { country: value, country_name: countryName(value), ...counts };
    return group_by === "city"
      ? { city: orUnknown(value), region: orUnknown(region), country, ...counts }
      : { region: orUnknown(value), region_name: orUnknown(region_name), country, ...counts };
  });
  return { group_by, data };
}

export async function breakDownDevices(
  clickhouse: ClickHouse,
  scope: BreakdownScope,
  range: QueryRange,
): Promise<AccountDevicesResponse> {
  const dimensions = ["device", "browser", "os"] as const;
  const breakdowns = await breakDown(clickhouse, scope, range, dimensions, ALL_VALUES);
  return {
    devices: breakdowns.device.map(({ value, clicks, percentage }) => ({
      type: value,
      clicks,
      percentage,
    })),
    browsers: breakdowns.browser.map(toNamedEntry),
    os: breakdowns.os.map(toNamedEntry),
  };
}

export async function breakDownReferrers(
  clickhouse: ClickHouse,
  scope: BreakdownScope,
  range: QueryRange,
  limit: number,
): Promise<AccountReferrersResponse> {
  const { referrer } = await breakDown(clickhouse, scope, range, ["referrer"], limit);
  return {
    referrers: referrer.map(({ value, clicks, percentage }) => ({
      source: value,
      clicks,
      percentage,
    })),
  };
}

const toNamedEntry = ({ value, clicks, percentage }: BreakdownRow) => ({
  name: value,
  clicks,
  percentage,
});
