/** The API as one Elysia app: first the plugins, then one group of routes per resource. */
import { Elysia } from "elysia";

import type { ClientAddress } from "../shared/client-address.ts";
import type { Log } from "../shared/log.ts";
import { version } from "../shared/version.ts";
import { analyticsRoutes } from "./analytics/routes.ts";
import type { AnalyticsService } from "./analytics/service.ts";
import { requireAccessRules } from "./auth/access-rules.ts";
import { carriesVerifiedKey, createApiKeyAuth, createVerifiedKeys } from "./auth/api-key-auth.ts";
import { createAuthorizer } from "./auth/authorizer.ts";
import { authPlugin } from "./auth/plugin.ts";
import { createRejectionCache } from "./auth/rejection-cache.ts";
import { domainRoutes } from "./domains/routes.ts";
import type { DomainService } from "./domains/service.ts";
import { errorPlugin } from "./http/error-plugin.ts";
import { healthPlugin } from "./http/health-plugin.ts";
import { metricsPlugin, type Observe } from "./http/metrics-plugin.ts";
import { requestContextPlugin } from "./http/request-context.ts";
import { siteHeaders } from "./http/site-headers.ts";
import { installValidation } from "./http/validation.ts";
import { createIdempotent } from "./idempotency/idempotent.ts";
import { keyRoutes } from "./keys/routes.ts";
import type { KeyService } from "./keys/service.ts";
import { createAnonymousLimit, createUnknownKeyLimit } from "./limits/anonymous.ts";
import { linkRoutes } from "./links/routes.ts";
import type { LinkService } from "./links/service.ts";
import { createOpenApiDocument } from "./openapi/document.ts";
import { openApiRoutes } from "./openapi/routes.ts";
import { type AppStores, isStoreUnavailable } from "./stores.ts";
import { limitRoutes } from "./usage/routes.ts";

export type AppDeps = {
  log: Log;
  stores: AppStores;
  clientAddress: ClientAddress;
  links: LinkService;
  analytics: AnalyticsService;
  keys: KeyService;
  domains: DomainService;
  /** The origin of short links, without a trailing slash. */
  shortUrl: string;
  /** Whether the process is stopping: clients shall connect to another one. */
  isStopping: () => boolean;
  /** Called for every completed request. */
  observe: Observe;
};

export function createApp(deps: AppDeps) {
  const { log, stores, clientAddress, links, analytics, keys, domains, shortUrl, observe } = deps;
  const anonymousLimit = createAnonymousLimit();
  const requestContext = requestContextPlugin(clientAddress);
  const rejections = createRejectionCache();
  const authorize = createAuthorizer((id, key, rule, wanted) =>
    stores.authorize(key, rule, wanted, rejections.drain(id)),
  );
  const verifiedKeys = createVerifiedKeys();
  const authenticate = createApiKeyAuth({
    authorize,
    anonymousLimit,
    unknownKeyLimit: createUnknownKeyLimit(),
    verifiedKeys,
    rejections,
  });
  const auth = authPlugin({ authenticate, requestContext });
  const idempotent = createIdempotent(stores.requests);
  let routes: { method: string; path: string }[] = [];
  const headers = siteHeaders(shortUrl);
  const app = new Elysia({ name: "api", normalize: false })
    .onRequest(({ set }) => void Object.assign(set.headers, headers))
    .use(healthPlugin(deps.isStopping))
    .use(metricsPlugin(observe))
    .use(
      errorPlugin({
        log,
        consumeAnonymous: anonymousLimit.consume,
        isVerified: (request) => carriesVerifiedKey(request, verifiedKeys),
        isStoreUnavailable,
        clientAddress,
        routes: () => routes,
      }),
    )
    .use(linkRoutes({ auth, idempotent, consumeMany: stores.consumeMany, links, shortUrl }))
    .use(analyticsRoutes({ auth, analytics }))
    .use(domainRoutes({ auth, idempotent, domains }))
    .use(keyRoutes({ auth, idempotent, keys }))
    .use(limitRoutes({ auth, listWindows: stores.listWindows, listQuotas: stores.listQuotas }))
    .use(openApiRoutes({ auth, document: () => reference }));
  requireAccessRules(app.routes);
  installValidation(app.routes);
  routes = app.routes;
  const reference = createOpenApiDocument(app.routes, version);
  return app;
}
