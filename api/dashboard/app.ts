/**
 * The dashboard's own site, on a port of its own: its page, signing in, and for people with a session
 * the same resources that /v1 has for API keys, under `/api/:account/:mode`.
 */
import { Elysia } from "elysia";

import { analyticsRoutes } from "../analytics/routes.ts";
import type { AppDeps } from "../app.ts";
import { requireAccessRules } from "../auth/access-rules.ts";
import { authPlugin } from "../auth/plugin.ts";
import { domainRoutes } from "../domains/routes.ts";
import { errorPlugin } from "../http/error-plugin.ts";
import { notFound } from "../http/errors.ts";
import { metricsPlugin } from "../http/metrics-plugin.ts";
import { requestContextPlugin } from "../http/request-context.ts";
import { requireSameOrigin } from "../http/same-origin.ts";
import { createOnce } from "../idempotency/once.ts";
import { keyRoutes } from "../keys/routes.ts";
import { createAnonymousLimit } from "../limits/anonymous.ts";
import { limitRoutes } from "../limits/routes.ts";
import { linkRoutes } from "../links/routes.ts";
import { invitationRoutes, memberRoutes } from "../members/routes.ts";
import type { MemberService } from "../members/service.ts";
import { createSessionAdmission } from "../sessions/admission.ts";
import { sessionRoutes } from "../sessions/routes.ts";
import type { SessionService } from "../sessions/service.ts";
import { type Assets, findAsset } from "./assets.ts";
import { linkSettingsRoutes } from "./routes.ts";

export type DashboardDeps = AppDeps & {
  sessions: SessionService;
  members: MemberService;
  assets: Assets;
  /** Where browsers reach the dashboard, without a trailing slash. */
  origin: string;
};

/** Nothing from elsewhere, nothing inline, in nobody's frame. */
const SECURITY_HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=()",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cache-control": "no-store",
};

const NOT_PAGES = /^\/(api|auth)(\/|$)/;

export function createDashboardApp(deps: DashboardDeps) {
  const { log, sql, clientAddress, links, analytics, keys, domains, sessions, members } = deps;
  const { assets, shortUrl, origin, observe } = deps;
  const anonymousLimit = createAnonymousLimit();
  const { findMembership } = members;
  const auth = authPlugin({
    admit: createSessionAdmission({ sessions, findMembership, anonymousLimit }),
    requestContext: requestContextPlugin(clientAddress),
  });
  const once = createOnce(sql);
  let routes: { method: string; path: string }[] = [];
  const resources = new Elysia({ prefix: "/api/:account/:mode" })
    // The hourly limit of the API is for programs; an import is bounded by the session's own.
    .use(linkRoutes({ auth, once, spendMore: () => Promise.resolve(), links, shortUrl }))
    .use(analyticsRoutes({ auth, analytics }))
    .use(domainRoutes({ auth, once, domains }))
    .use(keyRoutes({ auth, once, keys }))
    .use(limitRoutes({ auth, sql }))
    .use(linkSettingsRoutes({ auth, links }));
  const app = new Elysia({ name: "dashboard", normalize: false })
    .onRequest(({ request, set }) => {
      Object.assign(set.headers, SECURITY_HEADERS);
      requireSameOrigin(request, origin);
    })
    .use(metricsPlugin(observe))
    .use(errorPlugin({ log, anonymousLimit, clientAddress, routes: () => routes }))
    .use(sessionRoutes({ auth, sessions, members, shortUrl }))
    .use(invitationRoutes({ auth, members, sessions }))
    .use(memberRoutes({ auth, members }))
    .use(resources);
  requireAccessRules(app.routes);
  routes = app.routes.slice();
  return app.get("/*", ({ path, request, set }) => {
    if (NOT_PAGES.test(path)) throw notFound("resource");
    const { headers, body } = findAsset(assets, path, request.headers.get("accept-encoding"));
    Object.assign(set.headers, headers);
    return new Response(body);
  });
}
