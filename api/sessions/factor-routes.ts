/** `/auth/second-factor` and `/auth/passkeys`: how users sign in, besides by a password. */
import { Elysia } from "elysia";
import * as z from "zod";

import {
  enrolmentResponse,
  passkeyListResponse,
  recoveryCodesResponse,
  secondFactorResponse,
} from "../../shared/contracts/user-responses.ts";
import { decodeId, encodeId } from "../../shared/ids.ts";
import { successResponse } from "../http/common-schemas.ts";
import type { AccessPlugin } from "../site.ts";
import {
  addPasskeyBody,
  confirmBody,
  passwordBody,
  signInByPasskeyBody,
  webAuthnOptionsResponse,
} from "./model.ts";
import type { Passkeys } from "./passkeys.ts";
import type { SecondFactors } from "./second-factor.ts";
import { clientInfo, requireSession, setCookies } from "./session-auth.ts";

/** `/auth/second-factor`: the codes that a user signs in with in addition to the password. */
export const secondFactorRoutes = (auth: AccessPlugin, factors: SecondFactors) =>
  new Elysia({ name: "second-factor", prefix: "/auth/second-factor" })
    .use(auth)
    .get("", ({ call }) => factors.state(requireSession(call)), {
      access: "session",
      response: { 200: secondFactorResponse },
    })
    .post(
      "",
      ({ call, request, body }) =>
        factors.begin(requireSession(call), body.password, clientInfo(call, request)),
      { access: "session", body: passwordBody, response: { 200: enrolmentResponse } },
    )
    .post(
      "/confirm",
      async ({ call, request, body, set }) => {
        const client = clientInfo(call, request);
        setCookies(set, await factors.confirm(requireSession(call), body.code, client));
        return { success: true, message: "The second factor is set up." };
      },
      { access: "session", body: confirmBody, response: { 200: successResponse } },
    )
    .post(
      "/recovery-codes",
      async ({ call, request, body }) => ({
        recovery_codes: await factors.replaceCodes(
          requireSession(call),
          body.password,
          clientInfo(call, request),
        ),
      }),
      { access: "session", body: passwordBody, response: { 200: recoveryCodesResponse } },
    )
    .post(
      "/remove",
      async ({ call, request, body, set }) => {
        const client = clientInfo(call, request);
        setCookies(set, await factors.remove(requireSession(call), body.password, client));
        return { success: true, message: "The second factor has been removed." };
      },
      { access: "session", body: passwordBody, response: { 200: successResponse } },
    );

/** `/auth/passkeys`: lists, adds and removes them, and signs in by one. */
export const passkeyRoutes = (auth: AccessPlugin, passkeys: Passkeys) =>
  new Elysia({ name: "passkeys", prefix: "/auth/passkeys" })
    .use(auth)
    .get(
      "",
      async ({ call }) => ({
        data: (await passkeys.list(requireSession(call))).map(({ id, name, created_at }) => ({
          id: encodeId("pk", id),
          name,
          created_at: created_at.toISOString(),
        })),
      }),
      { access: "session", response: { 200: passkeyListResponse } },
    )
    .post(
      "/options",
      async ({ call, request, body, set }) => {
        const client = clientInfo(call, request);
        const begun = await passkeys.begin(requireSession(call), body.password, client);
        setCookies(set, begun.cookies);
        return begun.options;
      },
      { access: "session", body: passwordBody, response: { 200: webAuthnOptionsResponse } },
    )
    .post(
      "",
      async ({ call, request, body, set }) => {
        await passkeys.add(requireSession(call), body, clientInfo(call, request));
        set.status = 201;
        return { success: true, message: "The passkey has been added." };
      },
      { access: "session", body: addPasskeyBody, response: { 201: successResponse } },
    )
    .post(
      "/:id/remove",
      async ({ call, request, params, body }) => {
        const client = clientInfo(call, request);
        const id = decodeId("pk", params.id);
        await passkeys.remove(requireSession(call), id, body.password, client);
        return { success: true, message: "The passkey has been removed." };
      },
      {
        access: "session",
        params: z.object({ id: z.string() }),
        body: passwordBody,
        response: { 200: successResponse },
      },
    )
    .post(
      "/challenge",
      async ({ call, request, set }) => {
        const { options, cookies } = await passkeys.challenge(clientInfo(call, request));
        setCookies(set, cookies);
        return options;
      },
      { access: "public", response: { 200: webAuthnOptionsResponse } },
    )
    .post(
      "/sign-in",
      async ({ call, request, body, set }) => {
        setCookies(set, await passkeys.signIn(body.response, clientInfo(call, request)));
        return { success: true, message: "Signed in." };
      },
      { access: "public", body: signInByPasskeyBody, response: { 200: successResponse } },
    );
