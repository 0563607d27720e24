/**
 * The dashboard's site, on a port of its own: its files, sign-in, and for users with a session the same resources
 * that /v1 offers to API keys, under `/api/:account/:mode`.
 */
import { Elysia } from "elysia";

import { analyticsRoutes } from "../analytics/routes.ts";
import type { AppDeps } from "../app.ts";
import { requireAccessRules } from "../auth/access-rules.ts";
import { authPlugin } from "../auth/plugin.ts";
import { domainRoutes } from "../domains/routes.ts";
import { requireSameOrigin } from "../http/csrf.ts";
import { errorPlugin } from "../http/error-plugin.ts";
import { notFound } from "../http/errors.ts";
import { healthPlugin } from "../http/health-plugin.ts";
import { metricsPlugin } from "../http/metrics-plugin.ts";
import { requestContextPlugin } from "../http/request-context.ts";
import { siteHeaders } from "../http/site-headers.ts";
import { installValidation } from "../http/validation.ts";
import { createIdempotent } from "../idempotency/idempotent.ts";
import { keyRoutes } from "../keys/routes.ts";
import { createAnonymousLimit } from "../limits/anonymous.ts";
import { linkRoutes } from "../links/routes.ts";
import { invitationRoutes, memberRoutes } from "../members/routes.ts";
import type { MemberService } from "../members/service.ts";
import { sessionRoutes } from "../sessions/routes.ts";
import type { SessionService } from "../sessions/service.ts";
import { createSessionAuth } from "../sessions/session-auth.ts";
import { isStoreUnavailable } from "../stores.ts";
import { limitRoutes } from "../usage/routes.ts";
import { type Assets, findAsset } from "./assets.ts";
import { linkSettingsRoutes } from "./routes.ts";

export type DashboardDeps = AppDeps & {
  sessions: SessionService;
  members: MemberService;
  assets: Assets;
  /** The dashboard's origin, without a trailing slash. */
  origin: string;
};

/** Allows only the dashboard's own files, no inline code, and no framing. */
const SECURITY_HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=()",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
};

const NOT_PAGES = /^\/(api|auth)(\/|$)/;

export function createDashboardApp(deps: DashboardDeps) {
  const { log, stores, clientAddress, links, analytics, keys, domains, sessions, members } = deps;
  const { assets, shortUrl, origin, observe } = deps;
  const anonymousLimit = createAnonymousLimit();
  const { findMembership, listAccounts } = members;
  const auth = authPlugin({
    authenticate: createSessionAuth({ sessions, findMembership, anonymousLimit }),
    requestContext: requestContextPlugin(clientAddress),
  });
  const idempotent = createIdempotent(stores.requests);
  let routes: { method: string; path: string }[] = [];
  const resources = new Elysia({ prefix: "/api/:account/:mode" })
    // The endpoint's rate limit is for programs; the daily quota of links bounds an import.
    .use(linkRoutes({ auth, idempotent, consumeMany: () => Promise.resolve(), links, shortUrl }))
    .use(analyticsRoutes({ auth, analytics }))
    .use(domainRoutes({ auth, idempotent, domains }))
    .use(keyRoutes({ auth, idempotent, keys }))
    .use(limitRoutes({ auth, listWindows: stores.listWindows, listQuotas: stores.listQuotas }))
    .use(linkSettingsRoutes({ auth, links }));
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
        consumeAnonymous: anonymousLimit.consume,
        isStoreUnavailable,
        clientAddress,
        routes: () => routes,
      }),
    )
    .use(sessionRoutes({ auth, sessions, listAccounts, shortUrl }))
    .use(invitationRoutes({ auth, members, sessions }))
    .use(memberRoutes({ auth, members }))
    .use(resources);
  requireAccessRules(app.routes);
  installValidation(app.routes);
  routes = app.routes.slice();
  return app.get("/*", ({ path, request, set }) => {
    if (NOT_PAGES.test(path)) throw notFound("resource");
    const { headers, body } = findAsset(assets, path, request.headers.get("accept-encoding"));
    Object.assign(set.headers, headers);
    return new Response(body);
  });
}
