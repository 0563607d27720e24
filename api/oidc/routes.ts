/** `/auth/oidc`: signing in with the provider. */
import { Elysia } from "elysia";
import * as z from "zod";

import { clientInfo, setCookies } from "../sessions/session-auth.ts";
import type { AccessPlugin } from "../site.ts";
import type { OidcService } from "./service.ts";

/** The longest code, state or other parameter of a provider. */
const PARAMETER_LENGTH_MAX = 4_096;

const parameter = z.string().max(PARAMETER_LENGTH_MAX).optional();

/** Those of OpenID Connect that are used. */
const callbackQuery = z.object({
  code: parameter,
  state: parameter,
  iss: parameter,
  error: parameter,
  error_description: parameter,
});

export const oidcRoutes = (auth: AccessPlugin, oidc: OidcService) =>
  new Elysia({ name: "oidc", prefix: "/auth/oidc" })
    .use(auth)
    .post(
      "",
      async ({ call, request, set }) => {
        const { url, cookies } = await oidc.begin(clientInfo(call, request).headers);
        setCookies(set, cookies);
        return { url };
      },
      { access: "public", response: { 200: z.object({ url: z.string() }) } },
    )
    .get(
      "/callback",
      async ({ call, request, query, set }) => {
        const { path, cookies } = await oidc.finish(query, clientInfo(call, request));
        setCookies(set, cookies);
        set.status = 302;
        set.headers["location"] = path;
        return "";
      },
      { access: "page", query: callbackQuery, response: { 302: z.string() } },
    );
