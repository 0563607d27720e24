/** The site of `/v1`, as one Elysia app: the journey of every request, and then the routes. */
import { Elysia } from "elysia";

import { version } from "../shared/version.ts";
import type { Authenticator } from "./auth/access-rules.ts";
import { ApiKeyAuthenticator } from "./auth/api-key-auth.ts";
import { Authorizer } from "./auth/authorizer.ts";
import { bitly } from "./compat/bitly.ts";
import { shlink } from "./compat/shlink.ts";
import { type CompatibleApi, type Handle, V1 } from "./compat/v1.ts";
import { yourls } from "./compat/yourls.ts";
import type { CompatName } from "./config.ts";
import { compressReads } from "./http/compression.ts";
import { keyReportRoutes } from "./keys/routes.ts";
import { describeApi } from "./openapi/document.ts";
import { referenceRoutes } from "./openapi/routes.ts";
import { unsubscribeRoutes } from "./reports/routes.ts";
import { resourceRoutes } from "./resource-routes.ts";
import { linkReportRoutes } from "./reviews/report-routes.ts";
import type { Services } from "./services.ts";
import { sharedRoutes } from "./shares/public/routes.ts";
import { Site, type SiteContext } from "./site.ts";

/** `compat` names the other products' APIs that are served beside `/v1`. */
export function apiSite(
  context: SiteContext,
  services: Services,
  compat: readonly CompatName[] = [],
) {
  const { shortUrl, apiUrl, clientFile, stores } = context;
  const { shared, unsubscriber, linkReports, keyReports } = services;
  const authenticator = new ApiKeyAuthenticator(new Authorizer(stores));
  const site = new Site(context, authenticator, { url: shortUrl });
  const auth = site.access;
  // Takes half as long as all else here, so it waits until somebody asks.
  const document = (): unknown => describeApi(app.routes, version, { apiUrl, shortUrl });
  const app = new Elysia({ name: "api", normalize: false })
    .wrap((handle) => serveCompatible(handle, compat, shortUrl, authenticator))
    .wrap(compressReads)
    .use(site.journey)
    .use(resourceRoutes(site, context, services))
    .use(sharedRoutes(auth, shared, shortUrl.startsWith("https:")))
    .use(unsubscribeRoutes(auth, unsubscriber))
    .use(linkReportRoutes(auth, linkReports, (request) => site.originOf(request)))
    .use(keyReportRoutes(auth, keyReports))
    .use(referenceRoutes(auth, document, clientFile));
  site.finish(app.routes);
  return app;
}

const APIS: Readonly<Record<CompatName, CompatibleApi>> = { yourls, bitly, shlink };

/** Responds to the requests of other products' APIs, and leaves all others to `handle`. */
function serveCompatible(
  handle: Handle,
  names: readonly CompatName[],
  shortUrl: string,
  authenticator: Authenticator,
): (request: Request) => unknown {
  if (names.length === 0) return handle;
  const apis = names.map((name) => APIS[name]);
  return (request) => {
    const url = isOfV1(request.url) ? null : URL.parse(request.url);
    const api = url === null ? undefined : apis.find((known) => known.serves(url.pathname));
    if (url === null || api === undefined) return handle(request);
    const v1 = new V1(request, { url, shortUrl, authenticator }, handle);
    return request.method === "OPTIONS" ? v1.preflight() : respond(api, v1);
  };
}

const respond = async (api: CompatibleApi, v1: V1): Promise<Response> =>
  v1.respond(await api.respond(v1));

/** Tells most requests apart without parsing their URL. */
const isOfV1 = (url: string): boolean =>
  url.startsWith("/v1/", url.indexOf("/", "https://".length));
