/** The tables that clients get as CSV: of a response of a link or of the account alike. */
import {
  accountBreakdownResponse,
  accountDevicesResponse,
  accountGeoResponse,
  accountReferrersResponse,
  accountTimesResponse,
} from "./breakdown-model.ts";
import { bulkResponse } from "./bulk-model.ts";
import { type Table, toTable } from "./csv.ts";
import { accountResponse, summaryResponse } from "./model.ts";
import { targetsResponse } from "./targets.ts";

const TIME_COLUMNS = ["date", "clicks", "unique"];
const COUNT_COLUMNS = ["clicks", "percentage"];

const GEO_COLUMNS: Record<string, string[]> = {
  country: ["country", "country_name"],
  region: ["region", "region_name", "country"],
  city: ["city", "region", "country"],
};

export const summaryTable = (body: unknown): Table =>
  toTable(TIME_COLUMNS, summaryResponse.parse(body).clicks_over_time);

export const accountTable = (body: unknown): Table =>
  toTable(TIME_COLUMNS, accountResponse.parse(body).clicks_over_time);

export function geoTable(body: unknown): Table {
  const { group_by, data } = accountGeoResponse.parse(body);
  return toTable([...(GEO_COLUMNS[group_by] ?? []), ...COUNT_COLUMNS], data);
}

export function devicesTable(body: unknown): Table {
  const { devices, browsers, os } = accountDevicesResponse.parse(body);
  const dimensions = {
    device: devices.map(({ type, ...counts }) => ({ name: type, ...counts })),
    browser: browsers,
    os,
  };
  return toTable(
    ["dimension", "name", ...COUNT_COLUMNS],
    Object.entries(dimensions).flatMap(([dimension, rows]) =>
      rows.map((row) => ({ dimension, ...row })),
    ),
  );
}

export const referrersTable = (body: unknown): Table =>
  toTable(["source", ...COUNT_COLUMNS], accountReferrersResponse.parse(body).referrers);

export function breakdownTable(body: unknown): Table {
  const { data } = accountBreakdownResponse.parse(body);
  return toTable(
    [
      ...Object.keys(data[0]?.values ?? {}),
      "clicks",
      "unique_clicks",
      "percentage",
      ...Object.keys(data[0]?.link ?? {}),
    ],
    data.map(({ values, link, ...counts }) => ({ ...values, ...counts, ...link })),
  );
}

const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

export const timesTable = (body: unknown): Table =>
  toTable(
    ["weekday", "hour", "clicks"],
    accountTimesResponse
      .parse(body)
      .heatmap.flatMap((hours, day) =>
        hours.map((clicks, hour) => ({ weekday: WEEKDAYS[day], hour, clicks })),
      ),
  );

export const targetsTable = (body: unknown): Table =>
  toTable(
    ["kind", "id", "label", "url", "clicks", "unique_clicks", "percentage"],
    targetsResponse.parse(body).data,
  );

export function bulkTable(body: unknown): Table {
  const { data } = bulkResponse.parse(body);
  return toTable(Object.keys(data[0] ?? { link_id: "" }), data);
}
