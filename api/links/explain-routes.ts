/** The route that explains where a link redirects. */
import { Elysia } from "elysia";

import { decodeId } from "../../shared/ids.ts";
import { principalOf } from "../http/request-context.ts";
import type { AccessPlugin } from "../site.ts";
import { explainBody, explanation } from "./explain/model.ts";
import { linkParams } from "./model.ts";
import type { LinkService } from "./service.ts";

type ExplainRoutesDeps = { auth: AccessPlugin; links: Pick<LinkService, "explain"> };

export const explainRoutes = ({ auth, links }: ExplainRoutesDeps) =>
  new Elysia({ name: "explain", prefix: "/v1/links", tags: ["Links"] })
    .use(auth)
    .post(
      "/:id/explain",
      async ({ call, params, body }) =>
        await links.explain(principalOf(call), decodeId("link", params.id), body),
      {
        access: { scope: "links:read", limit: null, cost: 1, expensive: true },
        jsonBody: "required",
        params: linkParams,
        body: explainBody,
        response: { 200: explanation },
        detail: {
          operationId: "explainLink",
          summary: "Explain where a link leads",
          description:
            "Decides a request as the redirectors do, and says why each rule before the one that matches did not. Records no click.",
        },
      },
    );
