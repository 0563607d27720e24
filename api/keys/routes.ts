/** `/v1/keys`, and `/keys/report`, where anybody reports a key that they have found. */
import { Elysia } from "elysia";
import * as z from "zod";

import { newKeyBody, rotateKeyBody } from "../../shared/contracts/key-schemas.ts";
import { confirmAfter, successResponse } from "../http/common-schemas.ts";
import { listQuery, respondWithList } from "../http/pagination.ts";
import { originOf, principalOf } from "../http/request-context.ts";
import { created } from "../idempotency/idempotency.ts";
import { NetworkWindow } from "../limits/windows.ts";
import type { AccessPlugin } from "../site.ts";
import type { KeyReports } from "./reports.ts";
import {
  keyListResponse,
  keyParams,
  keyResponse,
  type KeyService,
  newKeyResponse,
  toKeyResponse,
} from "./service.ts";

export const keyRoutes = (auth: AccessPlugin, keys: KeyService) =>
  new Elysia({ name: "keys", prefix: "/v1/keys", tags: ["Keys"] })
    .use(auth)
    .post(
      "",
      ({ body, runOnce }) =>
        runOnce(async (principal) => {
          const { row, key } = await keys.create(principal, body);
          return created("/v1/keys", { ...toKeyResponse(row), key });
        }),
      {
        access: "keys:write",
        idempotent: "secret",
        errors: ["quota_exceeded"],
        body: newKeyBody,
        response: { 201: newKeyResponse },
        detail: {
          operationId: "createApiKey",
          summary: "Create an API key",
          description:
            "Only this response contains the value. A key can grant only scopes it has, and for no longer than it is valid itself. `quota_exceeded` when the account has as many keys as it may; revoked, expired and rotated keys do not count.",
        },
      },
    )
    .get(
      "",
      ({ call, query }) =>
        respondWithList(
          query,
          "keys",
          (request) => keys.list(principalOf(call), request),
          toKeyResponse,
        ),
      {
        access: "keys:read",
        query: listQuery,
        response: { 200: keyListResponse },
        detail: { operationId: "listApiKeys", summary: "List API keys" },
      },
    )
    .get(
      "/:id",
      async ({ call, params }) => toKeyResponse(await keys.get(principalOf(call), params.id)),
      {
        access: "keys:read",
        params: keyParams,
        response: { 200: keyResponse },
        detail: { operationId: "getApiKey", summary: "Get an API key" },
      },
    )
    .delete(
      "/:id",
      ({ call, params }) =>
        confirmAfter(keys.revoke(principalOf(call), params.id), "The API key has been revoked."),
      {
        access: "keys:write",
        params: keyParams,
        response: { 200: successResponse },
        detail: {
          operationId: "revokeApiKey",
          summary: "Revoke an API key",
          description:
            "It stops working with the next request, permanently. As with rotation, `forbidden` for a key with scopes that the caller lacks.",
        },
      },
    )
    .post(
      "/:id/rotate",
      ({ params, body, runOnce }) =>
        runOnce(async (principal) => {
          const { row, key } = await keys.rotate(principal, params.id, body);
          return { status: 200 as const, body: { ...toKeyResponse(row), key } };
        }),
      {
        access: "keys:write",
        optionalBody: true,
        idempotent: "secret",
        errors: ["conflict"],
        params: keyParams,
        body: rotateKeyBody,
        response: { 200: newKeyResponse },
        detail: {
          operationId: "rotateApiKey",
          summary: "Rotate an API key",
          description:
            "Creates a new key with the same name, scopes and networks, or with others; the old one works for `grace_seconds` more. `forbidden` for a key with scopes that the caller lacks. Of concurrent rotations of one key one succeeds; the others get `conflict`.",
        },
      },
    );

/** Keys of one report, and the longest text of one. */
const REPORTED_MAX = 100;
const REPORTED_LENGTH_MAX = 200;

const reportBody = z.strictObject({
  keys: z.array(z.string().max(REPORTED_LENGTH_MAX)).min(1).max(REPORTED_MAX),
});

/** `/keys/report`: for secret scanners and all others who find keys, and have none themselves. */
export function keyReportRoutes(auth: AccessPlugin, reports: KeyReports) {
  const networks = new NetworkWindow("key_reports");
  return new Elysia({ name: "key-reports", prefix: "/keys" }).use(auth).post(
    "/report",
    async ({ call, body, set }) => {
      networks.enforce(call.address, set.headers);
      await reports.report(body.keys, originOf(call));
      return { success: true, message: "Those of the keys that worked have been revoked." };
    },
    {
      access: "public",
      body: reportBody,
      response: { 200: successResponse },
      detail: { hide: true },
    },
  );
}
