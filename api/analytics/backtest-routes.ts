/** The route that runs rules over a link's clicks. */
import { Elysia } from "elysia";

import { decodeId } from "../../shared/ids.ts";
import type { AuthPlugin } from "../auth/plugin.ts";
import { principalOf } from "../http/request-context.ts";
import { linkParams } from "../links/model.ts";
import { READ_ACCESS } from "./access.ts";
import { backtestBody, backtestResponse } from "./backtest/model.ts";
import type { AnalyticsService } from "./service.ts";

type BacktestRoutesDeps = { auth: AuthPlugin; analytics: Pick<AnalyticsService, "backtest"> };

export const backtestRoutes = ({ auth, analytics }: BacktestRoutesDeps) =>
  new Elysia({ name: "backtest", prefix: "/v1/links", tags: ["Links"] })
    .use(auth)
    .post(
      "/:id/backtest",
      async ({ call, params, body }) =>
        await analytics.backtest(principalOf(call), decodeId("link", params.id), body),
      {
        access: READ_ACCESS,
        jsonBody: "required",
        errors: ["invalid_url"],
        params: linkParams,
        body: backtestBody,
        response: { 200: backtestResponse },
        detail: {
          operationId: "backtestLink",
          summary: "Try rules on a link's clicks",
          description:
            "Says how many clicks of a period each rule would have decided, as the redirectors decide. Changes nothing.",
        },
      },
    );
