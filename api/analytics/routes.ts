/** `/v1/analytics`. */
import { Elysia } from "elysia";
import * as z from "zod";

import { decodeId } from "../../shared/ids.ts";
import { type AuthPlugin, principalOf } from "../auth/plugin.ts";
import { periodQuery, summaryAnswer } from "./model.ts";
import type { AnalyticsService } from "./service.ts";

type AnalyticsRoutesDeps = { auth: AuthPlugin; analytics: AnalyticsService };

export const analyticsRoutes = ({ auth, analytics }: AnalyticsRoutesDeps) =>
  new Elysia({ name: "analytics", prefix: "/v1/analytics" })
    .use(auth)
    .get(
      "/:link_id",
      ({ call, params, query }) =>
        analytics.summary(principalOf(call), decodeId("link", params.link_id), query),
      {
        access: { scope: "analytics:read", limit: "GET /v1/analytics/*", cost: 1 },
        params: z.object({ link_id: z.string() }),
        query: periodQuery,
        response: { 200: summaryAnswer },
      },
    );
