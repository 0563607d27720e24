/** The API as one Elysia app: first the plugins, then the routes. */
import { Elysia } from "elysia";

import type { ClientAddress } from "../shared/client-address.ts";
import type { Log } from "../shared/log.ts";
import { version } from "../shared/version.ts";
import { requireAccessRules } from "./auth/access-rules.ts";
import { carriesVerifiedKey, createApiKeyAuth, createVerifiedKeys } from "./auth/api-key-auth.ts";
import { createAuthorizer } from "./auth/authorizer.ts";
import { KeyLimits } from "./auth/key-limits.ts";
import { authPlugin } from "./auth/plugin.ts";
import { createRejectionCache } from "./auth/rejection-cache.ts";
import { compressReads } from "./http/compression.ts";
import { corsPlugin } from "./http/cors-plugin.ts";
import { createDocUrl, createOriginOf } from "./http/doc-url.ts";
import { createMethodCheck, errorPlugin } from "./http/error-plugin.ts";
import { healthPlugin } from "./http/health-plugin.ts";
import { metricsPlugin, type Observe } from "./http/metrics-plugin.ts";
import { createParameterLookup } from "./http/query.ts";
import { requestContextPlugin } from "./http/request-context.ts";
import { siteHeaders } from "./http/site-headers.ts";
import { installValidation } from "./http/validation.ts";
import { NetworkWindow } from "./limits/windows.ts";
import { createOpenApiDocument } from "./openapi/document.ts";
import { openApiRoutes } from "./openapi/routes.ts";
import { unsubscribeRoutes } from "./reports/unsubscribe/routes.ts";
import type { Unsubscriber } from "./reports/unsubscribe/unsubscriber.ts";
import { resourceRoutes, type ResourceServices } from "./resource-routes.ts";
import { sharedRoutes } from "./shares/public/routes.ts";
import type { SharedService } from "./shares/reading.ts";
import { type AppStores, isStoreUnavailable } from "./stores.ts";

export type AppDeps = ResourceServices & {
  log: Log;
  stores: AppStores;
  clientAddress: ClientAddress;
  shared: SharedService;
  unsubscriber: Unsubscriber;
  /** The origin of short links, without a trailing slash. */
  shortUrl: string;
  /** The origin of this API, without a trailing slash; undefined when it is not configured. */
  apiUrl?: string | undefined;
  /** The path of the packed TypeScript client. */
  clientFile?: string;
  /** The origins whose pages may call the API from a browser; none by default. */
  corsOrigins?: readonly string[];
  /** Whether the process is stopping; responses then ask clients to reconnect elsewhere. */
  isStopping: () => boolean;
  /** Whether the process is behind; expensive calls then get 503. */
  isBehind: () => boolean;
  /** Called for every completed request. */
  observe: Observe;
  /** Called with every error of a request. */
  onFailure?: (error: unknown) => void;
};

export function createApp(deps: AppDeps) {
  const { log, stores, clientAddress, shared, unsubscriber, shortUrl, apiUrl, observe } = deps;
  const anonymousLimit = new NetworkWindow("anonymous_requests");
  const requestContext = requestContextPlugin(clientAddress);
  const rejections = createRejectionCache();
  const authorize = createAuthorizer((groups) =>
    stores.authorize(groups.map((group) => ({ ...group, rejected: rejections.drain(group.id) }))),
  );
  const verifiedKeys = createVerifiedKeys();
  const authenticate = createApiKeyAuth({
    authorize,
    anonymousLimit,
    unknownKeyLimit: new NetworkWindow("unknown_keys"),
    refusedKeyLimit: new NetworkWindow("refused_keys"),
    verifiedKeys,
    keyLimits: new KeyLimits(),
    rejections,
  });
  let routes: { method: string; path: string; hooks: { query?: unknown } }[] = [];
  const parametersOf = createParameterLookup(() => routes);
  const requireMethod = createMethodCheck(() => routes);
  const { isBehind } = deps;
  const auth = authPlugin({ authenticate, requestContext, parametersOf, isBehind });
  const headers = siteHeaders(shortUrl);
  const originOf = createOriginOf(shortUrl, apiUrl);
  const app = new Elysia({ name: "api", normalize: false })
    .wrap(compressReads)
    .onRequest(({ set }) => void Object.assign(set.headers, headers))
    // What is refused from here on has the id of its request.
    .use(requestContext)
    .onRequest(({ request }) => requireMethod(request))
    .use(corsPlugin(deps.corsOrigins ?? []))
    .use(healthPlugin(deps.isStopping))
    .use(metricsPlugin(observe))
    .use(
      errorPlugin({
        log,
        consumeAnonymous: (address) => anonymousLimit.consume(address),
        isVerified: (request) => carriesVerifiedKey(request, verifiedKeys),
        isStoreUnavailable,
        onFailure: deps.onFailure,
        clientAddress,
        routes: () => routes,
        docUrl: createDocUrl(originOf),
      }),
    )
    .use(resourceRoutes(deps, { auth, originOf }))
    .use(sharedRoutes({ auth, shared, secure: shortUrl.startsWith("https:") }))
    .use(unsubscribeRoutes({ auth, unsubscriber }))
    .use(openApiRoutes({ auth, document: describeRoutes, clientFile: deps.clientFile ?? "" }));
  requireAccessRules(app.routes);
  installValidation(app.routes);
  routes = app.routes;
  return app;

  /** Takes half as long as all else here, so it waits until somebody asks. */
  function describeRoutes(): unknown {
    return createOpenApiDocument(app.routes, version, { apiUrl, shortUrl });
  }
}
