/** Routes of `/v1/analytics`. */
import { Elysia } from "elysia";
import * as z from "zod";

import { decodeId } from "../../shared/ids.ts";
import type { AuthPlugin } from "../auth/plugin.ts";
import { principalOf } from "../http/request-context.ts";
import { READ_ACCESS } from "./access.ts";
import { csvPlugin } from "./csv-plugin.ts";
import { type Table, toTable } from "./csv.ts";
import {
  accountBreakdownQuery,
  accountBreakdownResponse,
  accountDevicesResponse,
  accountGeoResponse,
  accountQuery,
  accountReferrersResponse,
  accountResponse,
  accountTimesResponse,
  analyticsQuery,
  breakdownQuery,
  breakdownResponse,
  bulkBody,
  bulkResponse,
  devicesResponse,
  filtersQuery,
  geoQuery,
  geoResponse,
  referrersQuery,
  referrersResponse,
  summaryQuery,
  summaryResponse,
  timesResponse,
} from "./model.ts";
import type { AnalyticsService } from "./service.ts";
import { targetsResponse } from "./targets.ts";

type AnalyticsRoutesDeps = { auth: AuthPlugin; analytics: AnalyticsService };

const linkParams = z.object({ link_id: z.string() });

const TIME_COLUMNS = ["date", "clicks", "unique"];
const COUNT_COLUMNS = ["clicks", "percentage"];

const GEO_COLUMNS: Record<string, string[]> = {
  country: ["country", "country_name"],
  region: ["region", "region_name", "country"],
  city: ["city", "region", "country"],
};

const summaryTable = (body: unknown): Table =>
  toTable(TIME_COLUMNS, summaryResponse.parse(body).clicks_over_time);

const accountTable = (body: unknown): Table =>
  toTable(TIME_COLUMNS, accountResponse.parse(body).clicks_over_time);

function geoTable(body: unknown): Table {
  const { group_by, data } = accountGeoResponse.parse(body);
  return toTable([...(GEO_COLUMNS[group_by] ?? []), ...COUNT_COLUMNS], data);
}

function devicesTable(body: unknown): Table {
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

const referrersTable = (body: unknown): Table =>
  toTable(["source", ...COUNT_COLUMNS], accountReferrersResponse.parse(body).referrers);

function breakdownTable(body: unknown): Table {
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

const timesTable = (body: unknown): Table =>
  toTable(
    ["weekday", "hour", "clicks"],
    accountTimesResponse
      .parse(body)
      .heatmap.flatMap((hours, day) =>
        hours.map((clicks, hour) => ({ weekday: WEEKDAYS[day], hour, clicks })),
      ),
  );

const targetsTable = (body: unknown): Table =>
  toTable(
    ["kind", "id", "url", "clicks", "unique_clicks", "percentage"],
    targetsResponse.parse(body).data,
  );

function bulkTable(body: unknown): Table {
  const { data } = bulkResponse.parse(body);
  return toTable(Object.keys(data[0] ?? { link_id: "" }), data);
}

export const analyticsRoutes = ({ auth, analytics }: AnalyticsRoutesDeps) =>
  new Elysia({ name: "analytics", prefix: "/v1/analytics", tags: ["Analytics"] })
    .use(auth)
    .use(csvPlugin)
    .get(
      "/:link_id",
      ({ call, params, query }) =>
        analytics.summary(principalOf(call), decodeId("link", params.link_id), query),
      {
        access: READ_ACCESS,
        csv: summaryTable,
        params: linkParams,
        query: summaryQuery,
        response: { 200: summaryResponse },
        detail: { operationId: "getLinkAnalytics", summary: "Get a link's clicks over time" },
      },
    )
    .get(
      "/:link_id/geo",
      ({ call, params, query }) =>
        analytics.geo(principalOf(call), decodeId("link", params.link_id), query),
      {
        access: READ_ACCESS,
        csv: geoTable,
        params: linkParams,
        query: geoQuery,
        response: { 200: geoResponse },
        detail: { operationId: "getLinkGeo", summary: "Get a link's clicks by location" },
      },
    )
    .get(
      "/:link_id/devices",
      ({ call, params, query }) =>
        analytics.devices(principalOf(call), decodeId("link", params.link_id), query),
      {
        access: READ_ACCESS,
        csv: devicesTable,
        params: linkParams,
        query: analyticsQuery,
        response: { 200: devicesResponse },
        detail: {
          operationId: "getLinkDevices",
          summary: "Get a link's clicks by device, browser and system",
        },
      },
    )
    .get(
      "/:link_id/referrers",
      ({ call, params, query }) =>
        analytics.referrers(principalOf(call), decodeId("link", params.link_id), query),
      {
        access: READ_ACCESS,
        csv: referrersTable,
        params: linkParams,
        query: referrersQuery,
        response: { 200: referrersResponse },
        detail: { operationId: "getLinkReferrers", summary: "Get a link's clicks by referrer" },
      },
    )
    .get(
      "/:link_id/targets",
      ({ call, params, query }) =>
        analytics.targets(principalOf(call), decodeId("link", params.link_id), query),
      {
        access: READ_ACCESS,
        csv: targetsTable,
        params: linkParams,
        query: analyticsQuery,
        response: { 200: targetsResponse },
        detail: {
          operationId: "getLinkTargets",
          summary: "Get a link's clicks by rule and arm",
          description:
            "Where the link led: by each rule, each arm of its split, and its own destination. Reaches back as far as single clicks are retained.",
        },
      },
    )
    .get("", ({ call, query }) => analytics.account(principalOf(call), query), {
      access: READ_ACCESS,
      csv: accountTable,
      query: accountQuery,
      response: { 200: accountResponse },
      detail: {
        operationId: "getAccountAnalytics",
        summary: "Get the clicks of all links over time",
        description: "Includes the links with the most clicks, also deleted ones.",
      },
    })
    .get("/geo", ({ call, query }) => analytics.accountGeo(principalOf(call), query), {
      access: READ_ACCESS,
      csv: geoTable,
      query: geoQuery,
      response: { 200: accountGeoResponse },
      detail: { operationId: "getAccountGeo", summary: "Get the clicks of all links by location" },
    })
    .get("/devices", ({ call, query }) => analytics.accountDevices(principalOf(call), query), {
      access: READ_ACCESS,
      csv: devicesTable,
      query: analyticsQuery,
      response: { 200: accountDevicesResponse },
      detail: {
        operationId: "getAccountDevices",
        summary: "Get the clicks of all links by device, browser and system",
      },
    })
    .get("/referrers", ({ call, query }) => analytics.accountReferrers(principalOf(call), query), {
      access: READ_ACCESS,
      csv: referrersTable,
      query: referrersQuery,
      response: { 200: accountReferrersResponse },
      detail: {
        operationId: "getAccountReferrers",
        summary: "Get the clicks of all links by referrer",
      },
    })
    .get(
      "/:link_id/breakdown",
      ({ call, params, query }) =>
        analytics.breakdown(principalOf(call), decodeId("link", params.link_id), query),
      {
        access: READ_ACCESS,
        csv: breakdownTable,
        params: linkParams,
        query: breakdownQuery,
        response: { 200: breakdownResponse },
        detail: {
          operationId: "getLinkBreakdown",
          summary: "Break down a link's clicks by one or two dimensions",
        },
      },
    )
    .get("/breakdown", ({ call, query }) => analytics.accountBreakdown(principalOf(call), query), {
      access: READ_ACCESS,
      csv: breakdownTable,
      query: accountBreakdownQuery,
      response: { 200: accountBreakdownResponse },
      detail: {
        operationId: "getAccountBreakdown",
        summary: "Break down the clicks of all links by one or two dimensions",
      },
    })
    .get(
      "/:link_id/times",
      ({ call, params, query }) =>
        analytics.times(principalOf(call), decodeId("link", params.link_id), query),
      {
        access: READ_ACCESS,
        csv: timesTable,
        params: linkParams,
        query: analyticsQuery,
        response: { 200: timesResponse },
        detail: {
          operationId: "getLinkTimes",
          summary: "Get a link's clicks by weekday and hour, and its first and last click",
        },
      },
    )
    .get("/times", ({ call, query }) => analytics.accountTimes(principalOf(call), query), {
      access: READ_ACCESS,
      csv: timesTable,
      query: analyticsQuery,
      response: { 200: accountTimesResponse },
      detail: {
        operationId: "getAccountTimes",
        summary: "Get the clicks of all links by weekday and hour, and the first and last click",
      },
    })
    .get(
      "/:link_id/stream",
      async ({ call, params, query, request, set }) => {
        const events = await analytics.live(
          principalOf(call),
          decodeId("link", params.link_id),
          request,
          query,
        );
        set.headers["content-type"] = "text/event-stream; charset=utf-8";
        set.headers["cache-control"] = "no-store";
        // Disables buffering in nginx.
        set.headers["x-accel-buffering"] = "no";
        return new Response(events);
      },
      {
        access: READ_ACCESS,
        errors: ["quota_exceeded"],
        params: linkParams,
        query: filtersQuery,
        detail: {
          operationId: "streamLinkClicks",
          summary: "Stream a link's clicks",
          description:
            "Sends new clicks as server-sent events. A client that reconnects with `Last-Event-ID` resumes after that event and receives up to the latest 1,000 clicks it missed. Returns `quota_exceeded` if the account has reached its maximum of open streams.",
        },
      },
    )
    .post("/bulk", ({ call, body }) => analytics.bulk(principalOf(call), body), {
      access: { scope: "analytics:read", limit: "POST /v1/analytics/bulk", cost: 1 },
      csv: bulkTable,
      jsonBody: "required",
      body: bulkBody,
      response: { 200: bulkResponse },
      detail: {
        operationId: "getBulkAnalytics",
        summary: "Get the analytics of many links",
        description: "Lists links that do not exist in `errors`.",
      },
    });
