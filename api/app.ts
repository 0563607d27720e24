/** The API as one Elysia app: plugins first, then one group of routes a resource. */
import { Elysia } from "elysia";

import type { ClientAddress } from "../shared/client-address.ts";
import type { Log } from "../shared/log.ts";
import { version } from "../shared/version.ts";
import { analyticsRoutes } from "./analytics/routes.ts";
import type { AnalyticsService } from "./analytics/service.ts";
import { requireAccessRules } from "./auth/access-rules.ts";
import { authorizeAll } from "./auth/authorize.ts";
import { createAuthorizer } from "./auth/authorizer.ts";
import { createKeyAdmission } from "./auth/key-admission.ts";
import { authPlugin } from "./auth/plugin.ts";
import { domainRoutes } from "./domains/routes.ts";
import type { DomainService } from "./domains/service.ts";
import { errorPlugin } from "./http/error-plugin.ts";
import { metricsPlugin, type Observe } from "./http/metrics-plugin.ts";
import { requestContextPlugin } from "./http/request-context.ts";
import { createOnce } from "./idempotency/once.ts";
import { keyRoutes } from "./keys/routes.ts";
import type { KeyService } from "./keys/service.ts";
import { createAnonymousLimit } from "./limits/anonymous.ts";
import { createRefusals } from "./limits/refusals.ts";
import { limitRoutes } from "./limits/routes.ts";
import { createSpendMore } from "./limits/spend-more.ts";
import { linkRoutes } from "./links/routes.ts";
import type { LinkService } from "./links/service.ts";
import type { Sql } from "./postgres.ts";
import { createReference } from "./reference/document.ts";
import { referenceRoutes } from "./reference/routes.ts";

export type AppDeps = {
  log: Log;
  sql: Sql;
  clientAddress: ClientAddress;
  links: LinkService;
  analytics: AnalyticsService;
  keys: KeyService;
  domains: DomainService;
  /** Where short links are served, without a trailing slash. */
  shortUrl: string;
  /** Told of every request that was answered. */
  observe: Observe;
};

export function createApp(deps: AppDeps) {
  const { log, sql, clientAddress, links, analytics, keys, domains, shortUrl, observe } = deps;
  const anonymousLimit = createAnonymousLimit();
  const requestContext = requestContextPlugin(clientAddress);
  const refusals = createRefusals();
  const authorize = createAuthorizer((id, key, rule, wanted) =>
    authorizeAll(sql, key, rule, wanted, refusals.take(id)),
  );
  const admit = createKeyAdmission({ authorize, anonymousLimit, refusals });
  const auth = authPlugin({ admit, requestContext });
  const once = createOnce(sql);
  let routes: { method: string; path: string }[] = [];
  const app = new Elysia({ name: "api", normalize: false })
    .use(metricsPlugin(observe))
    .use(errorPlugin({ log, anonymousLimit, clientAddress, routes: () => routes }))
    .use(linkRoutes({ auth, once, spendMore: createSpendMore(sql), links, shortUrl }))
    .use(analyticsRoutes({ auth, analytics }))
    .use(domainRoutes({ auth, once, domains }))
    .use(keyRoutes({ auth, once, keys }))
    .use(limitRoutes({ auth, sql }))
    .use(referenceRoutes({ auth, document: () => reference }));
  requireAccessRules(app.routes);
  routes = app.routes;
  const reference = createReference(app.routes, version);
  return app;
}
