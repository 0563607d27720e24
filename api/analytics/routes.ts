/** Routes of analytics. Those of both scopes are in `scoped-routes.ts`. */
import { decodeId } from "../../shared/ids.ts";
import { confirmOf, principalOf } from "../http/request-context.ts";
import type { AccessPlugin } from "../site.ts";
import { READ_ACCESS } from "./access.ts";
import { bulkBody, bulkResponse } from "./bulk-model.ts";
import { accountTable, bulkTable, summaryTable, targetsTable } from "./csv-tables.ts";
import {
  accountQuery,
  accountResponse,
  analyticsQuery,
  filtersQuery,
  summaryQuery,
  summaryResponse,
} from "./model.ts";
import {
  ACCOUNT,
  addBreakdown,
  addCounts,
  addTimes,
  countOfLink,
  createAnalyticsApp,
  LINK,
  linkParams,
} from "./scoped-routes.ts";
import type { AnalyticsService } from "./service.ts";
import { targetsResponse } from "./targets.ts";

type AnalyticsRoutesDeps = { auth: AccessPlugin; analytics: AnalyticsService };

/** The order of the routes is that of the OpenAPI document. */
export function analyticsRoutes({ auth, analytics }: AnalyticsRoutesDeps) {
  const app = createAnalyticsApp(auth);
  app.get(
    "/:link_id",
    ({ call, params, query }) =>
      countOfLink(params, (link) => analytics.summary(principalOf(call), link, query)),
    {
      access: READ_ACCESS,
      csv: summaryTable,
      params: linkParams,
      query: summaryQuery,
      response: { 200: summaryResponse },
      detail: { operationId: "getLinkAnalytics", summary: "Get a link's clicks over time" },
    },
  );
  addCounts(app, analytics, LINK);
  app
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
            "Clicks by destination: of each rule, each arm of the split, and the link's own. Reaches back as far as single clicks are retained.",
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
    });
  addCounts(app, analytics, ACCOUNT);
  for (const add of [addBreakdown, addTimes]) {
    add(app, analytics, LINK);
    add(app, analytics, ACCOUNT);
  }
  return app
    .get(
      "/:link_id/stream",
      async ({ call, params, query, request, set }) => {
        const events = await analytics.live(
          principalOf(call),
          decodeId("link", params.link_id),
          { request, confirm: confirmOf(call) },
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
      access: {
        scope: "analytics:read",
        limit: "POST /v1/analytics/bulk",
        cost: 1,
        expensive: true,
      },
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
}
