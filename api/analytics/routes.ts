/** Routes of `/v1/analytics`. */
import { Elysia } from "elysia";
import * as z from "zod";

import { decodeId } from "../../shared/ids.ts";
import { noted } from "../auth/access-rules.ts";
import type { AuthPlugin } from "../auth/plugin.ts";
import { principalOf } from "../http/request-context.ts";
import { prefersCsv, type Table, toCsv, toTable } from "./csv.ts";
import {
  accountDevicesResponse,
  accountGeoResponse,
  accountQuery,
  accountReferrersResponse,
  accountResponse,
  bulkBody,
  bulkResponse,
  devicesResponse,
  geoQuery,
  geoResponse,
  periodQuery,
  referrersQuery,
  referrersResponse,
  summaryResponse,
} from "./model.ts";
import type { AnalyticsService } from "./service.ts";

type AnalyticsRoutesDeps = { auth: AuthPlugin; analytics: AnalyticsService };

const linkParams = z.object({ link_id: z.string() });

/** The access rule of all queries except the bulk one. */
const READ_ACCESS = { scope: "analytics:read", limit: "GET /v1/analytics/*", cost: 1 } as const;

/** Adds the route option `csv`, which converts a response to a table for clients that prefer CSV. */
const csvPlugin = new Elysia({ name: "csv" }).macro({
  csv: (convert: (body: unknown) => Table) => ({
    detail: noted({ "x-csv": true }),
    mapResponse({ responseValue, request, set }) {
      set.headers["vary"] = "Accept";
      // Errors are always JSON.
      if (Number(set.status ?? 200) !== 200 || !prefersCsv(request.headers.get("accept")))
        return undefined;
      set.headers["content-type"] = "text/csv; charset=utf-8";
      return new Response(toCsv(convert(responseValue)));
    },
  }),
});

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
        query: periodQuery,
        response: { 200: summaryResponse },
        detail: { operationId: "getSummary", summary: "Get a link's clicks over time" },
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
        detail: { operationId: "getGeo", summary: "Get a link's clicks by location" },
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
        query: periodQuery,
        response: { 200: devicesResponse },
        detail: {
          operationId: "getDevices",
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
        detail: { operationId: "getReferrers", summary: "Get a link's clicks by referrer" },
      },
    )
    .get("", ({ call, query }) => analytics.account(principalOf(call), query), {
      access: READ_ACCESS,
      csv: accountTable,
      query: accountQuery,
      response: { 200: accountResponse },
      detail: {
        operationId: "getAccountSummary",
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
      query: periodQuery,
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
      "/:link_id/stream",
      async ({ call, params, request, set }) => {
        const events = await analytics.live(
          principalOf(call),
          decodeId("link", params.link_id),
          request,
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
        detail: {
          operationId: "streamClicks",
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
