/** Breakdown responses, without `link_id`. */
import type { ClickHouse } from "../../shared/clicks/rollups.ts";
import type {
  AccountDevicesResponse,
  AccountGeoResponse,
  AccountReferrersResponse,
} from "./breakdown-model.ts";
import { breakDown, type BreakdownRow, orUnknown } from "./breakdowns.ts";
import { countryName } from "./countries.ts";
import type { BreakdownScope } from "./dimensions.ts";
import type { GeoQuery } from "./model.ts";
import type { QueryRange } from "./sources.ts";

/**
 * Far more than the number of devices, browsers and operating systems, so the response contains all
 * of them.
 */
const ALL_VALUES = 1_000;

export async function breakDownGeo(
  clickhouse: ClickHouse,
  scope: BreakdownScope,
  range: QueryRange,
  { group_by, limit }: Pick<GeoQuery, "group_by" | "limit">,
): Promise<AccountGeoResponse> {
  const breakdowns = await breakDown(clickhouse, scope, range, [group_by], limit);
  const rows = breakdowns[group_by];
  if (group_by === "country") return { group_by, data: rows.map(toCountryClicks) };
  return group_by === "city"
    ? { group_by, data: rows.map(toCityClicks) }
    : { group_by, data: rows.map(toRegionClicks) };
}

const toCountryClicks = ({ value, clicks, percentage }: BreakdownRow) => ({
  country: value,
  country_name: countryName(value),
  clicks,
  percentage,
});

const toRegionClicks = ({ value, region_name, country, clicks, percentage }: BreakdownRow) => ({
  region: orUnknown(value),
  region_name: orUnknown(region_name),
  country,
  clicks,
  percentage,
});

const toCityClicks = ({ value, region, country, clicks, percentage }: BreakdownRow) => ({
  city: orUnknown(value),
  region: orUnknown(region),
  country,
  clicks,
  percentage,
});

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
