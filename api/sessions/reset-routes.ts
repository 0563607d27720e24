/** `/auth/password-resets`: for people who have forgotten their password, without a session. */
import { Elysia } from "elysia";
import * as z from "zod";

import type { AuthPlugin } from "../auth/plugin.ts";
import { successResponse } from "../http/common-schemas.ts";
import { ApiError } from "../http/errors.ts";
import { NetworkWindow } from "../limits/windows.ts";
import {
  requestResetBody,
  resetOptionsResponse,
  resetUserResponse,
  useResetBody,
} from "./model.ts";
import type { PasswordResets } from "./resets.ts";

const tokenParams = z.object({ token: z.string().max(100) });

/** `sendsMails` says whether this installation sends mails. */
export function resetRoutes(auth: AuthPlugin, resets: PasswordResets, sendsMails: boolean) {
  const networks = new NetworkWindow("password_resets");
  return new Elysia({ name: "password resets", prefix: "/auth/password-resets" })
    .use(auth)
    .get("", () => ({ by_mail: sendsMails }), {
      access: "public",
      response: { 200: resetOptionsResponse },
    })
    .post(
      "",
      async ({ call, body, set }) => {
        networks.enforce(call.address, set.headers);
        if (!sendsMails)
          throw new ApiError(
            "invalid_request",
            "No mails are sent here. Ask an owner of your account, or the operator, for a link.",
          );
        await resets.request(body.email, body.language);
        return {
          success: true,
          message: "If somebody has this address, a mail with a link is on its way.",
        };
      },
      {
        access: "public",
        jsonBody: "required",
        body: requestResetBody,
        response: { 200: successResponse },
      },
    )
    .get("/:token", async ({ params }) => ({ email: (await resets.find(params.token)).email }), {
      access: "public",
      params: tokenParams,
      response: { 200: resetUserResponse },
    })
    .post(
      "/:token",
      async ({ params, body }) => {
        await resets.use(params.token, body.password);
        return { success: true, message: "The password has been set. Sign in with it." };
      },
      {
        access: "public",
        jsonBody: "required",
        params: tokenParams,
        body: useResetBody,
        response: { 200: successResponse },
      },
    );
}
