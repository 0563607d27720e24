/** `/v1/analytics`. */
import { Elysia } from "elysia";
import * as z from "zod";

import { decodeId } from "../../shared/ids.ts";
import { noted } from "../auth/access-rules.ts";
import { type AuthPlugin, principalOf } from "../auth/plugin.ts";
import { prefersCsv, type Table, tableOf, toCsv } from "./csv.ts";
import {
  accountAnswer,
  accountDevicesAnswer,
  accountGeoAnswer,
  accountQuery,
  accountReferrersAnswer,
  bulkAnswer,
  bulkBody,
  devicesAnswer,
  geoAnswer,
  geoQuery,
  periodQuery,
  referrersAnswer,
  referrersQuery,
  summaryAnswer,
} from "./model.ts";
import type { AnalyticsService } from "./service.ts";

type AnalyticsRoutesDeps = { auth: AuthPlugin; analytics: AnalyticsService };

const linkParams = z.object({ link_id: z.string() });

/** What reading the analytics of a link asks for. */
const READING = { scope: "analytics:read", limit: "GET /v1/analytics/*", cost: 1 } as const;

/** The plugin with the `csv` of a route: how its answer is written as a table. */
const csvPlugin = new Elysia({ name: "csv" }).macro({
  csv: (toTable: (answer: unknown) => Table) => ({
    detail: noted({ "x-csv": true }),
    mapResponse({ responseValue, request, set }) {
      set.headers["vary"] = "Accept";
      // Errors are told in the one envelope, whatever was asked for.
      if (Number(set.status ?? 200) !== 200 || !prefersCsv(request.headers.get("accept")))
        return undefined;
      set.headers["content-type"] = "text/csv; charset=utf-8";
      return new Response(toCsv(toTable(responseValue)));
    },
  }),
});

/** Text as it comes; when the reader goes, so does its source. */
const toStream = (parts: AsyncGenerator<string>): ReadableStream<Uint8Array> =>
  new ReadableStream({
    async pull(controller) {
      const { done, value } = await parts.next();
      if (done === true) controller.close();
      else controller.enqueue(new TextEncoder().encode(value));
    },
    async cancel() {
      await parts.return(undefined);
    },
  });

const DAYS = ["date", "clicks", "unique"];
const FIGURES = ["clicks", "percentage"];

const PLACES: Record<string, string[]> = {
  country: ["country", "country_name"],
  region: ["region", "region_name", "country"],
  city: ["city", "region", "country"],
};

const summaryTable = (answer: unknown): Table =>
  tableOf(DAYS, summaryAnswer.parse(answer).clicks_over_time);

const accountTable = (answer: unknown): Table =>
  tableOf(DAYS, accountAnswer.parse(answer).clicks_over_time);

function geoTable(answer: unknown): Table {
  const { group_by, data } = accountGeoAnswer.parse(answer);
  return tableOf([...(PLACES[group_by] ?? []), ...FIGURES], data);
}

function devicesTable(answer: unknown): Table {
  const { devices, browsers, os } = accountDevicesAnswer.parse(answer);
  const kinds = {
    device: devices.map(({ type, ...figures }) => ({ name: type, ...figures })),
    browser: browsers,
    os,
  };
  return tableOf(
    ["dimension", "name", ...FIGURES],
    Object.entries(kinds).flatMap(([dimension, rows]) =>
      rows.map((row) => ({ dimension, ...row })),
    ),
  );
}

const referrersTable = (answer: unknown): Table =>
  tableOf(["source", ...FIGURES], accountReferrersAnswer.parse(answer).referrers);

function bulkTable(answer: unknown): Table {
  const { data } = bulkAnswer.parse(answer);
  return tableOf(Object.keys(data[0] ?? { link_id: "" }), data);
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
        access: READING,
        csv: summaryTable,
        params: linkParams,
        query: periodQuery,
        response: { 200: summaryAnswer },
        detail: { operationId: "getSummary", summary: "Get a link's clicks over time" },
      },
    )
    .get(
      "/:link_id/geo",
      ({ call, params, query }) =>
        analytics.geo(principalOf(call), decodeId("link", params.link_id), query),
      {
        access: READING,
        csv: geoTable,
        params: linkParams,
        query: geoQuery,
        response: { 200: geoAnswer },
        detail: { operationId: "getGeo", summary: "Get where a link's clicks come from" },
      },
    )
    .get(
      "/:link_id/devices",
      ({ call, params, query }) =>
        analytics.devices(principalOf(call), decodeId("link", params.link_id), query),
      {
        access: READING,
        csv: devicesTable,
        params: linkParams,
        query: periodQuery,
        response: { 200: devicesAnswer },
        detail: {
          operationId: "getDevices",
          summary: "Get a link's devices, browsers and systems",
        },
      },
    )
    .get(
      "/:link_id/referrers",
      ({ call, params, query }) =>
        analytics.referrers(principalOf(call), decodeId("link", params.link_id), query),
      {
        access: READING,
        csv: referrersTable,
        params: linkParams,
        query: referrersQuery,
        response: { 200: referrersAnswer },
        detail: { operationId: "getReferrers", summary: "Get a link's referrers" },
      },
    )
    .get("", ({ call, query }) => analytics.account(principalOf(call), query), {
      access: READING,
      csv: accountTable,
      query: accountQuery,
      response: { 200: accountAnswer },
      detail: {
        operationId: "getAccountSummary",
        summary: "Get the clicks of all links over time",
        description: "With the links that have the most clicks, deleted ones included.",
      },
    })
    .get("/geo", ({ call, query }) => analytics.accountGeo(principalOf(call), query), {
      access: READING,
      csv: geoTable,
      query: geoQuery,
      response: { 200: accountGeoAnswer },
      detail: { operationId: "getAccountGeo", summary: "Get where clicks of all links come from" },
    })
    .get("/devices", ({ call, query }) => analytics.accountDevices(principalOf(call), query), {
      access: READING,
      csv: devicesTable,
      query: periodQuery,
      response: { 200: accountDevicesAnswer },
      detail: {
        operationId: "getAccountDevices",
        summary: "Get devices, browsers and systems of all links",
      },
    })
    .get("/referrers", ({ call, query }) => analytics.accountReferrers(principalOf(call), query), {
      access: READING,
      csv: referrersTable,
      query: referrersQuery,
      response: { 200: accountReferrersAnswer },
      detail: { operationId: "getAccountReferrers", summary: "Get referrers of all links" },
    })
    .get(
      "/:link_id/stream",
      async ({ call, params, request, set }) => {
        const events = await analytics.live(
          principalOf(call),
          decodeId("link", params.link_id),
          request.headers.get("last-event-id"),
        );
        set.headers["content-type"] = "text/event-stream; charset=utf-8";
        set.headers["cache-control"] = "no-store";
        // So that nginx passes on what it gets at once.
        set.headers["x-accel-buffering"] = "no";
        return new Response(toStream(events));
      },
      {
        access: READING,
        params: linkParams,
        detail: {
          operationId: "streamClicks",
          summary: "Follow a link's clicks as they come",
          description:
            "Server-sent events. A client that comes back with `Last-Event-ID` goes on where it was.",
        },
      },
    )
    .post("/bulk", ({ call, body }) => analytics.bulk(principalOf(call), body), {
      access: { scope: "analytics:read", limit: "POST /v1/analytics/bulk", cost: 1 },
      csv: bulkTable,
      jsonBody: "required",
      body: bulkBody,
      response: { 200: bulkAnswer },
      detail: {
        operationId: "getBulkAnalytics",
        summary: "Get figures of many links",
        description: "Links that do not exist are named in `errors`.",
      },
    });
