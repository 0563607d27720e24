/**
 * The dashboard's site, on its own port: its files, sign-in, and the resources of /v1 for users
 * with a session, under `/api/:account/:mode`.
 */
import { Elysia } from "elysia";

import type { AppDeps } from "../app.ts";
import { requireAccessRules } from "../auth/access-rules.ts";
import { authPlugin } from "../auth/plugin.ts";
import { requireSameOrigin } from "../http/csrf.ts";
import { errorPlugin } from "../http/error-plugin.ts";
import { notFound } from "../http/errors.ts";
import { healthPlugin } from "../http/health-plugin.ts";
import { metricsPlugin } from "../http/metrics-plugin.ts";
import { createParameterLookup } from "../http/query.ts";
import { addressOf, requestContextPlugin } from "../http/request-context.ts";
import { siteHeaders } from "../http/site-headers.ts";
import { installValidation } from "../http/validation.ts";
import { FileBudget } from "../limits/file-budget.ts";
import { NetworkWindow } from "../limits/windows.ts";
import { invitationRoutes, memberRoutes } from "../members/routes.ts";
import type { MemberService } from "../members/service.ts";
import { resourceRoutes } from "../resource-routes.ts";
import { resetRoutes } from "../sessions/reset-routes.ts";
import type { PasswordResets } from "../sessions/resets.ts";
import { sessionRoutes } from "../sessions/routes.ts";
import type { SessionService } from "../sessions/service.ts";
import { createSessionAuth } from "../sessions/session-auth.ts";
import { sharedRoutes } from "../shares/public/routes.ts";
import { isStoreUnavailable } from "../stores.ts";
import { type Assets, findAsset } from "./assets.ts";

export type DashboardDeps = AppDeps & {
  sessions: SessionService;
  resets: PasswordResets;
  members: MemberService;
  assets: Assets;
  /** Whether this installation sends mails. */
  sendsMails: boolean;
  /** The dashboard's origin, without a trailing slash. */
  origin: string;
};

/**
 * Allows only the dashboard's own files and the images of link previews. Forbids inline code and
 * framing.
 */
const SECURITY_HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob: https:; " +
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=()",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
};

const NOT_PAGES = /^\/(api|auth)(\/|$)/;

export function createDashboardApp(deps: DashboardDeps) {
  const { log, clientAddress, sessions, members, assets, shortUrl, origin, observe } = deps;
  const anonymousLimit = new NetworkWindow("anonymous_requests");
  const { findMembership, listAccounts } = members;
  let routes: { method: string; path: string; hooks: { query?: unknown } }[] = [];
  const auth = authPlugin({
    authenticate: createSessionAuth({ sessions, findMembership, anonymousLimit }),
    requestContext: requestContextPlugin(clientAddress),
    parametersOf: createParameterLookup(() => routes),
    isBehind: deps.isBehind,
  });
  // A share has one URL, whether it was made here or with a key.
  const resources = new Elysia({ prefix: "/api/:account/:mode" }).use(
    resourceRoutes(deps, { auth, originOf: () => deps.apiUrl ?? origin }),
  );
  const headers = { ...siteHeaders(origin), ...SECURITY_HEADERS };
  const app = new Elysia({ name: "dashboard", normalize: false })
    .onRequest(({ request, set }) => {
      Object.assign(set.headers, headers);
      requireSameOrigin(request, origin);
    })
    .use(healthPlugin(deps.isStopping))
    .use(metricsPlugin(observe))
    .use(
      errorPlugin({
        log,
        consumeAnonymous: (address) => anonymousLimit.consume(address),
        isStoreUnavailable,
        clientAddress,
        routes: () => routes,
      }),
    )
    .use(sessionRoutes({ auth, sessions, listAccounts, shortUrl, sendsMails: deps.sendsMails }))
    .use(resetRoutes(auth, deps.resets, deps.sendsMails))
    .use(invitationRoutes({ auth, members, sessions }))
    .use(memberRoutes({ auth, members }))
    .use(sharedRoutes({ auth, shared: deps.shared, secure: origin.startsWith("https:") }))
    .use(resources);
  requireAccessRules(app.routes);
  installValidation(app.routes);
  routes = app.routes.slice();
  const files = new FileBudget();
  return app.get("/*", ({ path, request, server, set }) => {
    if (NOT_PAGES.test(path)) throw notFound("resource");
    const { headers, body } = findAsset(assets, path, request.headers.get("accept-encoding"));
    files.charge(addressOf(request, server, clientAddress), body.length);
    Object.assign(set.headers, headers);
    return new Response(body);
  });
}
