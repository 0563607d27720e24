/**
 * Routes of `/v1/clicks`: pages of single clicks, and exports of a whole range as lines of JSON.
 */
import { Elysia } from "elysia";

import { csvPlugin, toTable } from "../analytics/csv-plugin.ts";
import { READ_ACCESS } from "../analytics/model.ts";
import { confirmOf, principalOf } from "../http/request-context.ts";
import type { AccessPlugin } from "../site.ts";
import { clicksQuery, clicksResponse, type ClicksService, exportQuery } from "./service.ts";
import { CLICK_FIELDS } from "./single-clicks.ts";

export const clicksRoutes = (auth: AccessPlugin, clicks: ClicksService) =>
  new Elysia({ name: "clicks", prefix: "/v1/clicks", tags: ["Analytics"] })
    .use(auth)
    .use(csvPlugin)
    .get("", ({ call, query }) => clicks.list(principalOf(call), query), {
      access: READ_ACCESS,
      csv: (body: unknown) => toTable(CLICK_FIELDS, clicksResponse.parse(body).data),
      query: clicksQuery,
      response: { 200: clicksResponse },
      detail: {
        operationId: "listClicks",
        summary: "List single clicks, newest first",
        description: "Lists clicks of all classes, unless the filter `class` names some.",
      },
    })
    .get(
      "/export",
      async ({ call, query, set }) => {
        const body = await clicks.exportAll(principalOf(call), query, confirmOf(call));
        set.headers["content-type"] = "application/x-ndjson; charset=utf-8";
        set.headers["cache-control"] = "no-store";
        // Disables buffering in nginx.
        set.headers["x-accel-buffering"] = "no";
        return new Response(body);
      },
      {
        access: READ_ACCESS,
        query: exportQuery,
        detail: {
          operationId: "exportClicks",
          summary: "Export all single clicks of a range",
          description:
            "Returns every click of the range as a line of JSON, in the order of links and times. When the export fails on the way, the connection breaks before the response is complete; so it does when the client takes nothing of it for half a minute, or less than 1 MB per second while other accounts wait for an export. An account has one export at a time.",
        },
      },
    );
