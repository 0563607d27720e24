/** Routes of `/v1/links`. */
import { Elysia } from "elysia";

import { createLinkBody, updateLinkBody } from "../../shared/contracts/link-schemas.ts";
import { decodeId } from "../../shared/ids.ts";
import type { AuthPlugin } from "../auth/plugin.ts";
import { idParams, successResponse } from "../http/common-schemas.ts";
import { paginationOf } from "../http/pagination.ts";
import { principalOf } from "../http/request-context.ts";
import type { Idempotent } from "../idempotency/idempotent.ts";
import type { ConsumeMany } from "../limits/consume-many.ts";
import { bulkLinksBody, bulkLinksResponse, createLinks } from "./bulk.ts";
import {
  buildShortUrl,
  createdLink,
  fullLink,
  linkListResponse,
  listLinksQuery,
  toCreatedLink,
  toFullLink,
} from "./model.ts";
import { drawQr, qrQuery } from "./qr.ts";
import type { LinkService } from "./service.ts";

type LinkRoutesDeps = {
  auth: AuthPlugin;
  idempotent: Idempotent;
  consumeMany: ConsumeMany;
  links: LinkService;
  shortUrl: string;
};

const propagationHeaders = (propagated: boolean): Record<string, string> =>
  propagated ? {} : { "x-propagation": "pending" };

export const linkRoutes = ({ auth, idempotent, consumeMany, links, shortUrl }: LinkRoutesDeps) =>
  new Elysia({ name: "links", prefix: "/v1/links", tags: ["Links"] })
    .use(auth)
    .post(
      "",
      async ({ call, request, body, set }) => {
        const principal = principalOf(call);
        return await idempotent({ principal, request, body, set }, async (id) => {
          const { link, propagated } = await links.create(principal, id, body);
          const created = toCreatedLink(link, shortUrl);
          const headers = {
            location: `/v1/links/${created.id}`,
            ...propagationHeaders(propagated),
          };
          return { status: 201, headers, body: created };
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
            "The link redirects as soon as you receive the response. Returns `invalid_url`, `invalid_alias` or `alias_taken` when the link is not valid.",
        },
      },
    )
    .post(
      "/bulk",
      async ({ call, request, body, set }) => {
        const principal = principalOf(call);
        return await idempotent({ principal, request, body, set }, async (id) => {
          await consumeMany({ call, set }, "POST /v1/links", body.links.length);
          const { response, propagated } = await createLinks(links, principal, id, body, (row) =>
            toCreatedLink(row, shortUrl),
          );
          return { status: 200, headers: propagationHeaders(propagated), body: response };
        });
      },
      {
        access: { scope: "links:write", limit: null, cost: 1 },
        jsonBody: "required",
        idempotent: true,
        body: bulkLinksBody,
        response: { 200: bulkLinksResponse },
        detail: {
          operationId: "createLinks",
          summary: "Create many links",
          description:
            "Creates up to 100 links; each one succeeds or fails on its own. Every link counts toward the hourly limit of `POST /v1/links`; if fewer requests remain than there are links, none is created. Every created link counts toward the daily quota; links beyond the quota fail with `rate_limited`, and the whole request fails if none of the quota is left.",
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
        const { type, image } = await drawQr(buildShortUrl(link, shortUrl), query);
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
          description: "Returns a QR code of the short URL as SVG or PNG.",
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
        response: { 200: linkListResponse },
        detail: {
          operationId: "listLinks",
          summary: "List links",
          description: "Pages after the last one are empty.",
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
        Object.assign(set.headers, propagationHeaders(propagated));
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
          summary: "Update a link",
          description: "Updates the fields in the body; null removes an optional field.",
        },
      },
    )
    .delete(
      "/:id",
      async ({ call, params, set }) => {
        const { propagated } = await links.remove(principalOf(call), decodeId("link", params.id));
        Object.assign(set.headers, propagationHeaders(propagated));
        return { success: true, message: "The link has been deleted." };
      },
      {
        access: { scope: "links:delete", limit: null, cost: 1 },
        params: idParams,
        response: { 200: successResponse },
        detail: {
          operationId: "deleteLink",
          summary: "Delete a link",
          description:
            "Deletes the link permanently: it stops redirecting, and its alias becomes available.",
        },
      },
    );
