/** `/v1/keys`. */
import { Elysia } from "elysia";

import { createKeyBody, rotateKeyBody } from "../../shared/contracts/key-bodies.ts";
import { decodeId } from "../../shared/ids.ts";
import { type AuthPlugin, principalOf } from "../auth/plugin.ts";
import { doneAnswer, idParams } from "../http/fields.ts";
import { listQuery, paginationOf } from "../http/pages.ts";
import type { Once } from "../idempotency/once.ts";
import { keyAnswer, keyListAnswer, newKeyAnswer, toKeyAnswer } from "./model.ts";
import type { KeyService } from "./service.ts";

type KeyRoutesDeps = { auth: AuthPlugin; once: Once; keys: KeyService };

/** The value of a new key must not be readable from the database, not even for a day. */
const SECRET = { secret: true };

export const keyRoutes = ({ auth, once, keys }: KeyRoutesDeps) =>
  new Elysia({ name: "keys", prefix: "/v1/keys", tags: ["Keys"] })
    .use(auth)
    .post(
      "",
      async ({ call, request, body, set }) => {
        const principal = principalOf(call);
        const make = async () => {
          const { row, key } = await keys.create(principal, body);
          const answer = { ...toKeyAnswer(row), key };
          return { status: 201 as const, headers: { location: `/v1/keys/${answer.id}` }, answer };
        };
        return await once({ principal, request, body, set }, make, SECRET);
      },
      {
        access: { scope: "keys:write", limit: null, cost: 1 },
        jsonBody: "required",
        idempotent: true,
        body: createKeyBody,
        response: { 201: newKeyAnswer },
        detail: {
          operationId: "createKey",
          summary: "Create an API key",
          description:
            "The value is in this answer and nowhere else. A key can grant only what it may do itself.",
        },
      },
    )
    .get(
      "",
      async ({ call, query: { page, limit } }) => {
        const { rows, total } = await keys.list(principalOf(call), page, limit);
        return { data: rows.map(toKeyAnswer), pagination: paginationOf(page, limit, total) };
      },
      {
        access: { scope: "keys:read", limit: null, cost: 1 },
        query: listQuery,
        response: { 200: keyListAnswer },
        detail: { operationId: "listKeys", summary: "List API keys" },
      },
    )
    .get(
      "/:id",
      async ({ call, params }) =>
        toKeyAnswer(await keys.get(principalOf(call), decodeId("key", params.id))),
      {
        access: { scope: "keys:read", limit: null, cost: 1 },
        params: idParams,
        response: { 200: keyAnswer },
        detail: { operationId: "getKey", summary: "Get an API key" },
      },
    )
    .delete(
      "/:id",
      async ({ call, params }) => {
        await keys.revoke(principalOf(call), decodeId("key", params.id));
        return { success: true, message: "The API key has been revoked." };
      },
      {
        access: { scope: "keys:write", limit: null, cost: 1 },
        params: idParams,
        response: { 200: doneAnswer },
        detail: {
          operationId: "revokeKey",
          summary: "Revoke an API key",
          description: "It stops working with the next request, for good.",
        },
      },
    )
    .post(
      "/:id/rotate",
      async ({ call, params, request, body, set }) => {
        const principal = principalOf(call);
        const rotate = async () => {
          const id = decodeId("key", params.id);
          const { row, key } = await keys.rotate(principal, id, body.grace_seconds);
          return { status: 200 as const, answer: { ...toKeyAnswer(row), key } };
        };
        return await once({ principal, request, body, set }, rotate, SECRET);
      },
      {
        access: { scope: "keys:write", limit: null, cost: 1 },
        jsonBody: "optional",
        idempotent: true,
        params: idParams,
        body: rotateKeyBody,
        response: { 200: newKeyAnswer },
        detail: {
          operationId: "rotateKey",
          summary: "Replace an API key",
          description: "Makes a new key like it; the old one works for `grace_seconds` more.",
        },
      },
    );
