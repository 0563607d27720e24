/** The API as one Elysia app: plugins first, then one group of routes a resource. */
import { Elysia } from "elysia";

import type { ClientAddress } from "../shared/client-address.ts";
import type { Log } from "../shared/log.ts";
import { analyticsRoutes } from "./analytics/routes.ts";
import type { AnalyticsService } from "./analytics/service.ts";
import { requireAccessRules } from "./auth/access-rules.ts";
import { authorizeAll } from "./auth/authorize.ts";
import { createAuthorizer } from "./auth/authorizer.ts";
import { authPlugin } from "./auth/plugin.ts";
import { errorPlugin } from "./http/error-plugin.ts";
import { requestContextPlugin } from "./http/request-context.ts";
import { keyRoutes } from "./keys/routes.ts";
import type { KeyService } from "./keys/service.ts";
import { createAnonymousLimit } from "./limits/anonymous.ts";
import { createRefusals } from "./limits/refusals.ts";
import { limitRoutes } from "./limits/routes.ts";
import { linkRoutes } from "./links/routes.ts";
import type { LinkService } from "./links/service.ts";
import type { Sql } from "./postgres.ts";

export type AppDeps = {
  log: Log;
  sql: Sql;
  clientAddress: ClientAddress;
  links: LinkService;
  analytics: AnalyticsService;
  keys: KeyService;
  /** Where short links are served, without a trailing slash. */
  shortUrl: string;
};

export function createApp({ log, sql, clientAddress, links, analytics, keys, shortUrl }: AppDeps) {
  const anonymousLimit = createAnonymousLimit();
  const requestContext = requestContextPlugin(clientAddress);
  const refusals = createRefusals();
  const authorize = createAuthorizer((id, key, rule, wanted) =>
    authorizeAll(sql, key, rule, wanted, refusals.take(id)),
  );
  const auth = authPlugin({ authorize, anonymousLimit, refusals, requestContext });
  let routes: { method: string; path: string }[] = [];
  const app = new Elysia({ name: "api", normalize: false })
    .use(errorPlugin({ log, anonymousLimit, clientAddress, routes: () => routes }))
    .use(linkRoutes({ auth, links, shortUrl }))
    .use(analyticsRoutes({ auth, analytics }))
    .use(keyRoutes({ auth, keys }))
    .use(limitRoutes({ auth, sql }));
  requireAccessRules(app.routes);
  routes = app.routes;
  return app;
}
