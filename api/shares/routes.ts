/** Routes of `/v1/shares`: owners manage their shares. */
import { Elysia } from "elysia";

import { confirmAfter, successResponse } from "../http/common-schemas.ts";
import { listQuery, respondWithList } from "../http/pagination.ts";
import { principalOf } from "../http/request-context.ts";
import { created } from "../idempotency/idempotency.ts";
import type { AccessPlugin } from "../site.ts";
import {
  newShareBody,
  newShareResponse,
  shareListResponse,
  shareParams,
  shareResponse,
  toShareResponse,
  updateShareBody,
} from "./model.ts";
import type { ShareService } from "./service.ts";

/** The requirement that the service checks, besides the route's scope. */
const NEEDS_READER =
  "Nobody can share what they may not read: `analytics:read` is required as well, and `links:read` for a share of one link.";

/**
 * `originOf` is the origin, without a trailing slash, at which the client of a request reaches this
 * site.
 */
export const shareRoutes = (
  auth: AccessPlugin,
  shares: ShareService,
  originOf: (request: Request) => string,
) =>
  new Elysia({ name: "shares", prefix: "/v1/shares", tags: ["Shares"] })
    .use(auth)
    .post(
      "",
      ({ request, body, runOnce }) =>
        runOnce(async (principal, id) => {
          const { row, token } = await shares.create(principal, id, body);
          const url = `${originOf(request)}/shared/${token}`;
          return created("/v1/shares", { ...toShareResponse(row), token, url });
        }),
      {
        access: "shares:write",
        idempotent: "secret",
        errors: ["quota_exceeded", "not_found"],
        body: newShareBody,
        response: { 201: newShareResponse },
        detail: {
          operationId: "createShare",
          summary: "Share statistics",
          description:
            "Makes the statistics of a link, or of all links, readable for people without an account. Only this response contains the URL; who has it can read them until the share expires or is revoked. A share belongs to the account: it outlives the key that made it. " +
            NEEDS_READER,
        },
      },
    )
    .get(
      "",
      ({ call, query }) =>
        respondWithList(
          query,
          "shares",
          (request) => shares.list(principalOf(call), request),
          toShareResponse,
        ),
      {
        access: "shares:read",
        query: listQuery,
        response: { 200: shareListResponse },
        detail: { operationId: "listShares", summary: "List shares" },
      },
    )
    .get(
      "/:id",
      async ({ call, params }) => toShareResponse(await shares.get(principalOf(call), params.id)),
      {
        access: "shares:read",
        params: shareParams,
        response: { 200: shareResponse },
        detail: { operationId: "getShare", summary: "Get a share" },
      },
    )
    .patch(
      "/:id",
      async ({ call, params, body }) =>
        toShareResponse(await shares.update(principalOf(call), params.id, body)),
      {
        access: "shares:write",
        params: shareParams,
        body: updateShareBody,
        response: { 200: shareResponse },
        detail: {
          operationId: "updateShare",
          summary: "Change a share",
          description:
            "Changes the fields that the body has. A new password ends all access by the old one. " +
            NEEDS_READER,
        },
      },
    )
    .post(
      "/:id/rotate",
      ({ params, request, runOnce }) =>
        runOnce(async (principal) => {
          const { row, token } = await shares.rotate(principal, params.id);
          const url = `${originOf(request)}/shared/${token}`;
          return { status: 200 as const, body: { ...toShareResponse(row), token, url } };
        }),
      {
        access: "shares:write",
        idempotent: "secret",
        params: shareParams,
        response: { 200: newShareResponse },
        detail: {
          operationId: "rotateShare",
          summary: "Give a share another URL",
          description:
            "For a URL that was lost, or that the wrong people have: the one before stops working with the next request, also where it is embedded. Only this response contains the new one. " +
            NEEDS_READER,
        },
      },
    )
    .delete(
      "/:id",
      ({ call, params }) =>
        confirmAfter(shares.revoke(principalOf(call), params.id), "The share has been revoked."),
      {
        access: "shares:write",
        params: shareParams,
        response: { 200: successResponse },
        detail: {
          operationId: "revokeShare",
          summary: "Revoke a share",
          description: "Its URL stops working with the next request, permanently.",
        },
      },
    );
