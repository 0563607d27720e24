/** `/v1/keys`. */
import { Elysia } from "elysia";
import * as z from "zod";

import { decodeId } from "../../shared/ids.ts";
import { type AuthPlugin, principalOf } from "../auth/plugin.ts";
import { doneAnswer } from "../http/fields.ts";
import { listQuery, paginationOf } from "../http/pages.ts";
import {
  createKeyBody,
  keyAnswer,
  keyListAnswer,
  newKeyAnswer,
  rotateKeyBody,
  toKeyAnswer,
} from "./model.ts";
import type { KeyService } from "./service.ts";

const idParams = z.object({ id: z.string() });

export const keyRoutes = ({ auth, keys }: { auth: AuthPlugin; keys: KeyService }) =>
  new Elysia({ name: "keys", prefix: "/v1/keys" })
    .use(auth)
    .post(
      "",
      async ({ call, body, set }) => {
        const { row, key } = await keys.create(principalOf(call), body);
        const answer = { ...toKeyAnswer(row), key };
        set.status = 201;
        set.headers["location"] = `/v1/keys/${answer.id}`;
        return answer;
      },
      {
        access: { scope: "keys:write", limit: null, cost: 1 },
        jsonBody: "required",
        body: createKeyBody,
        response: { 201: newKeyAnswer },
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
      },
    )
    .post(
      "/:id/rotate",
      async ({ call, params, body }) => {
        const id = decodeId("key", params.id);
        const { row, key } = await keys.rotate(principalOf(call), id, body.grace_seconds);
        return { ...toKeyAnswer(row), key };
      },
      {
        access: { scope: "keys:write", limit: null, cost: 1 },
        jsonBody: "optional",
        params: idParams,
        body: rotateKeyBody,
        response: { 200: newKeyAnswer },
      },
    );
