/** The route of the statistics of failed requests. */
import { Elysia } from "elysia";

import { FAILURE_REASONS } from "../../../shared/contracts/analytics.ts";
import { principalOf } from "../../http/request-context.ts";
import type { AccessPlugin } from "../../site.ts";
import { csvPlugin, toTable } from "../csv-plugin.ts";
import { READ_ACCESS } from "../model.ts";
import { failuresQuery, failuresResponse } from "./model.ts";
import type { FailureService } from "./service.ts";

const COLUMNS = ["date", "total", ...FAILURE_REASONS];

export const failureRoutes = (auth: AccessPlugin, failures: FailureService) =>
  new Elysia({ name: "failures", prefix: "/v1/analytics", tags: ["Analytics"] })
    .use(auth)
    .use(csvPlugin)
    .get("/failures", ({ call, query }) => failures.count(principalOf(call), query), {
      access: READ_ACCESS,
      csv: (body: unknown) => toTable(COLUMNS, failuresResponse.parse(body).failures_over_time),
      query: failuresQuery,
      response: { 200: failuresResponse },
      detail: {
        operationId: "getFailures",
        summary: "Get failed requests",
        description:
          "Counts requests that were not redirected, by reason: for links, and for aliases without a link on the account's verified domains. They are no clicks. Requests of people and programs count alike.",
      },
    });
