/** The site of `/v1`, as one Elysia app: the journey of every request, and then the routes. */
import { Elysia } from "elysia";

import { version } from "../shared/version.ts";
import { ApiKeyAuthenticator } from "./auth/api-key-auth.ts";
import { Authorizer } from "./auth/authorizer.ts";
import { CompatibleApis } from "./compat/serve.ts";
import type { CompatName } from "./config.ts";
import { compressReads } from "./http/compression.ts";
import { describeApi } from "./openapi/document.ts";
import { referenceRoutes } from "./openapi/routes.ts";
import { unsubscribeRoutes } from "./reports/unsubscribe-routes.ts";
import { resourceRoutes, type SiteServices } from "./resource-routes.ts";
import { sharedRoutes } from "./shares/public/routes.ts";
import { Site, type SiteContext } from "./site.ts";

/** `compat` names the other products' APIs that are served beside `/v1`. */
export function apiSite(
  context: SiteContext,
  services: SiteServices,
  compat: readonly CompatName[] = [],
) {
  const { shortUrl, apiUrl, clientFile, stores } = context;
  const { shared, unsubscriber } = services;
  const authenticator = new ApiKeyAuthenticator(new Authorizer(stores));
  const site = new Site(context, authenticator, { url: shortUrl });
  const auth = site.access;
  // Takes half as long as all else here, so it waits until somebody asks.
  const document = (): unknown => describeApi(app.routes, version, { apiUrl, shortUrl });
  const app = new Elysia({ name: "api", normalize: false })
    .wrap(new CompatibleApis(compat, shortUrl, authenticator).wrap)
    .wrap(compressReads)
    .use(site.journey)
    .use(resourceRoutes(site, context, services))
    .use(sharedRoutes(auth, shared, shortUrl.startsWith("https:")))
    .use(unsubscribeRoutes(auth, unsubscriber))
    .use(referenceRoutes(auth, document, clientFile));
  site.finish(app.routes);
  return app;
}
