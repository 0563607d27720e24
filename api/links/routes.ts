/** `/v1/links`. */
import { Elysia } from "elysia";

import { createLinkBody, updateLinkBody } from "../../shared/contracts/link-bodies.ts";
import { decodeId } from "../../shared/ids.ts";
import { type AuthPlugin, principalOf } from "../auth/plugin.ts";
import { doneAnswer, idParams } from "../http/fields.ts";
import { paginationOf } from "../http/pages.ts";
import type { Once } from "../idempotency/once.ts";
import type { SpendMore } from "../limits/spend-more.ts";
import { bulkLinksAnswer, bulkLinksBody, createLinks } from "./bulk.ts";
import {
  createdLink,
  fullLink,
  linkListAnswer,
  listLinksQuery,
  shortUrlOf,
  toCreatedLink,
  toFullLink,
} from "./model.ts";
import { drawQr, qrQuery } from "./qr.ts";
import type { LinkService } from "./service.ts";

type LinkRoutesDeps = {
  auth: AuthPlugin;
  once: Once;
  spendMore: SpendMore;
  links: LinkService;
  shortUrl: string;
};

const propagation = (propagated: boolean): Record<string, string> =>
  propagated ? {} : { "x-propagation": "pending" };

export const linkRoutes = ({ auth, once, spendMore, links, shortUrl }: LinkRoutesDeps) =>
  new Elysia({ name: "links", prefix: "/v1/links", tags: ["Links"] })
    .use(auth)
    .post(
      "",
      async ({ call, request, body, set }) => {
        const principal = principalOf(call);
        return await once({ principal, request, body, set }, async (id) => {
          const { link, propagated } = await links.create(principal, id, body);
          const answer = toCreatedLink(link, shortUrl);
          const headers = { location: `/v1/links/${answer.id}`, ...propagation(propagated) };
          return { status: 201, headers, answer };
        });
      },
      {
        access: { scope: "links:write", limit: "POST /v1/links", cost: 1 },
        jsonBody: "required",
        idempotent: true,
        errors: ["invalid_url", "invalid_alias", "alias_taken"],
        body: createLinkBody,
        response: { 201: createdLink },
        detail: {
          operationId: "createLink",
          summary: "Create a link",
          description:
            "The link redirects from the moment of the answer. `invalid_url`, `invalid_alias` and `alias_taken` say what is wrong with it.",
        },
      },
    )
    .post(
      "/bulk",
      async ({ call, request, body, set }) => {
        const principal = principalOf(call);
        return await once({ principal, request, body, set }, async (id) => {
          await spendMore({ call, set }, "POST /v1/links", body.links.length);
          const { answer, propagated } = await createLinks(links, principal, id, body, (row) =>
            toCreatedLink(row, shortUrl),
          );
          return { status: 200, headers: propagation(propagated), answer };
        });
      },
      {
        access: { scope: "links:write", limit: null, cost: 1 },
        jsonBody: "required",
        idempotent: true,
        body: bulkLinksBody,
        response: { 200: bulkLinksAnswer },
        detail: {
          operationId: "createLinks",
          summary: "Create many links",
          description:
            "Up to 100 links, each made or refused on its own. Each counts toward the hourly limit of `POST /v1/links`; when that has not as many left, none is made.",
        },
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
        detail: { operationId: "getLink", summary: "Get a link" },
      },
    )
    .get(
      "/:id/qr",
      async ({ call, params, query, set }) => {
        const link = await links.get(principalOf(call), decodeId("link", params.id));
        const { type, image } = await drawQr(shortUrlOf(link, shortUrl), query);
        set.headers["content-type"] = type;
        return new Response(image);
      },
      {
        access: { scope: "links:read", limit: null, cost: 1 },
        params: idParams,
        query: qrQuery,
        detail: {
          operationId: "getLinkQr",
          summary: "Get a link's QR code",
          description: "A QR code of the short URL, as SVG or PNG.",
        },
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
        detail: {
          operationId: "listLinks",
          summary: "List links",
          description: "A page beyond the last is empty.",
        },
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
        Object.assign(set.headers, propagation(propagated));
        return toFullLink(link, shortUrl);
      },
      {
        access: { scope: "links:write", limit: null, cost: 1 },
        jsonBody: "required",
        errors: ["invalid_url", "invalid_alias", "alias_taken"],
        params: idParams,
        body: updateLinkBody,
        response: { 200: fullLink },
        detail: {
          operationId: "updateLink",
          summary: "Change a link",
          description: "Fields that are sent are changed; null removes what can be removed.",
        },
      },
    )
    .delete(
      "/:id",
      async ({ call, params, set }) => {
        const { propagated } = await links.remove(principalOf(call), decodeId("link", params.id));
        Object.assign(set.headers, propagation(propagated));
        return { success: true, message: "The link has been deleted." };
      },
      {
        access: { scope: "links:delete", limit: null, cost: 1 },
        params: idParams,
        response: { 200: doneAnswer },
        detail: {
          operationId: "deleteLink",
          summary: "Delete a link",
          description: "For good: the link stops redirecting, and its alias is free again.",
        },
      },
    );
