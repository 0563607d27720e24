/** `/v1/analytics`. */
import { Elysia } from "elysia";
import * as z from "zod";

import { decodeId } from "../../shared/ids.ts";
import { type AuthPlugin, principalOf } from "../auth/plugin.ts";
import {
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

export const analyticsRoutes = ({ auth, analytics }: AnalyticsRoutesDeps) =>
  new Elysia({ name: "analytics", prefix: "/v1/analytics", tags: ["Analytics"] })
    .use(auth)
    .get(
      "/:link_id",
      ({ call, params, query }) =>
        analytics.summary(principalOf(call), decodeId("link", params.link_id), query),
      {
        access: READING,
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
        params: linkParams,
        query: referrersQuery,
        response: { 200: referrersAnswer },
        detail: { operationId: "getReferrers", summary: "Get a link's referrers" },
      },
    )
    .post("/bulk", ({ call, body }) => analytics.bulk(principalOf(call), body), {
      access: { scope: "analytics:read", limit: "POST /v1/analytics/bulk", cost: 1 },
      jsonBody: "required",
      body: bulkBody,
      response: { 200: bulkAnswer },
      detail: {
        operationId: "getBulkAnalytics",
        summary: "Get figures of many links",
        description: "Links that do not exist are named in `errors`.",
      },
    });
