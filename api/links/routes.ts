/** `/v1/links`. */
import { Elysia } from "elysia";
import * as z from "zod";

import { decodeId } from "../../shared/ids.ts";
import { type AuthPlugin, principalOf } from "../auth/plugin.ts";
import { createdLink, createLinkBody, fullLink, toCreatedLink, toFullLink } from "./model.ts";
import type { LinkService } from "./service.ts";

type LinkRoutesDeps = { auth: AuthPlugin; links: LinkService; shortUrl: string };

const idParams = z.object({ id: z.string() });

export const linkRoutes = ({ auth, links, shortUrl }: LinkRoutesDeps) =>
  new Elysia({ name: "links", prefix: "/v1/links" })
    .use(auth)
    .post(
      "",
      async ({ call, body, set }) => {
        const { link, propagated } = await links.create(principalOf(call), body);
        const answer = toCreatedLink(link, shortUrl);
        set.status = 201;
        set.headers["location"] = `/v1/links/${answer.id}`;
        if (!propagated) set.headers["x-propagation"] = "pending";
        return answer;
      },
      {
        access: { scope: "links:write", limit: "POST /v1/links", cost: 1 },
        jsonBody: "required",
        body: createLinkBody,
        response: { 201: createdLink },
      },
    )
    .get(
      "/:id",
      async ({ call, params }) =>
        toFullLink(await links.get(principalOf(call), decodeId("link", params.id)), shortUrl),
      {
        access: { scope: "links:read", limit: null, cost: 1 },
        params: idParams,
        response: { 200: fullLink },
      },
    );
