/** `/v1/links`. */
import { Elysia } from "elysia";
import * as z from "zod";

import { decodeId } from "../../shared/ids.ts";
import { type AuthPlugin, principalOf } from "../auth/plugin.ts";
import { doneAnswer } from "../http/fields.ts";
import { paginationOf } from "../http/pages.ts";
import {
  createdLink,
  createLinkBody,
  fullLink,
  linkListAnswer,
  listLinksQuery,
  toCreatedLink,
  toFullLink,
  updateLinkBody,
} from "./model.ts";
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
    )
    .get(
      "",
      async ({ call, query }) => {
        const { rows, total } = await links.list(principalOf(call), query);
        return {
          data: rows.map((row) => toCreatedLink(row, shortUrl)),
          pagination: paginationOf(query.page, query.limit, total),
        };
      },
      {
        access: { scope: "links:read", limit: null, cost: 1 },
        query: listLinksQuery,
        response: { 200: linkListAnswer },
      },
    )
    .patch(
      "/:id",
      async ({ call, params, body, set }) => {
        const { link, propagated } = await links.update(
          principalOf(call),
          decodeId("link", params.id),
          body,
        );
        if (!propagated) set.headers["x-propagation"] = "pending";
        return toFullLink(link, shortUrl);
      },
      {
        access: { scope: "links:write", limit: null, cost: 1 },
        jsonBody: "required",
        params: idParams,
        body: updateLinkBody,
        response: { 200: fullLink },
      },
    )
    .delete(
      "/:id",
      async ({ call, params, set }) => {
        const { propagated } = await links.remove(principalOf(call), decodeId("link", params.id));
        if (!propagated) set.headers["x-propagation"] = "pending";
        return { success: true, message: "The link has been deleted." };
      },
      {
        access: { scope: "links:delete", limit: null, cost: 1 },
        params: idParams,
        response: { 200: doneAnswer },
      },
    );
