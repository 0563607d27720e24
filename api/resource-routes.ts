/**
 * The routes of all resources, which `/v1` offers to API keys and the dashboard's site to its
 * users.
 */
import { Elysia } from "elysia";

import { failureRoutes } from "./analytics/failures/routes.ts";
import type { FailureService } from "./analytics/failures/service.ts";
import { analyticsRoutes } from "./analytics/routes.ts";
import type { AnalyticsService } from "./analytics/service.ts";
import type { AuthPlugin } from "./auth/plugin.ts";
import { brandingRoutes } from "./branding/routes.ts";
import type { BrandingService } from "./branding/service.ts";
import { clicksRoutes } from "./clicks/routes.ts";
import type { ClicksService } from "./clicks/service.ts";
import { domainRoutes } from "./domains/routes.ts";
import type { DomainService } from "./domains/service.ts";
import { eventRoutes } from "./events/routes.ts";
import type { EventService } from "./events/service.ts";
import { createIdempotent } from "./idempotency/idempotent.ts";
import { keyRoutes } from "./keys/routes.ts";
import type { KeyService } from "./keys/service.ts";
import { bulkLinkRoutes } from "./links/bulk-routes.ts";
import { explainRoutes } from "./links/explain-routes.ts";
import { linkRoutes } from "./links/routes.ts";
import type { LinkService } from "./links/service.ts";
import { reportRoutes } from "./reports/routes.ts";
import type { ReportService } from "./reports/service.ts";
import { shareRoutes } from "./shares/routes.ts";
import type { ShareService } from "./shares/service.ts";
import type { AppStores } from "./stores.ts";
import { tagRoutes } from "./tags/routes.ts";
import type { TagService } from "./tags/service.ts";
import { limitRoutes } from "./usage/routes.ts";
import { viewRoutes } from "./views/routes.ts";
import type { ViewService } from "./views/service.ts";
import { webhookRoutes } from "./webhooks/routes.ts";
import type { WebhookService } from "./webhooks/service.ts";

export type ResourceServices = {
  links: LinkService;
  analytics: AnalyticsService;
  failures: FailureService;
  clicks: ClicksService;
  keys: KeyService;
  domains: DomainService;
  shares: ShareService;
  tags: TagService;
  branding: BrandingService;
  views: ViewService;
  webhooks: WebhookService;
  events: EventService;
  reports: ReportService;
};

type ResourceRoutesDeps = ResourceServices & {
  stores: Pick<AppStores, "requests" | "listWindows" | "listQuotas">;
  /** The origin of short links, without a trailing slash. */
  shortUrl: string;
};

/** What the two sites do not have in common. */
type Site = {
  /** Authenticates callers: by their API key, or by their session. */
  auth: AuthPlugin;
  /** The origin, without a trailing slash, at which the client of a request reaches this site. */
  originOf: (request: Request) => string;
};

export function resourceRoutes(deps: ResourceRoutesDeps, { auth, originOf }: Site) {
  const { stores, shortUrl, links, analytics, failures, clicks, domains, keys } = deps;
  const { shares, tags, branding, views, events, webhooks, reports } = deps;
  const { listWindows, listQuotas } = stores;
  const idempotent = createIdempotent(stores.requests);
  return new Elysia()
    .use(linkRoutes({ auth, idempotent, links, branding, shortUrl }))
    .use(bulkLinkRoutes({ auth, idempotent, links, shortUrl }))
    .use(tagRoutes({ auth, tags }))
    .use(explainRoutes({ auth, links }))
    .use(analyticsRoutes(auth, analytics))
    .use(failureRoutes(auth, failures))
    .use(clicksRoutes({ auth, clicks }))
    .use(domainRoutes({ auth, idempotent, domains, shortUrl }))
    .use(keyRoutes({ auth, idempotent, keys }))
    .use(shareRoutes({ auth, idempotent, shares, originOf }))
    .use(brandingRoutes({ auth, branding }))
    .use(viewRoutes({ auth, views }))
    .use(webhookRoutes({ auth, idempotent, webhooks }))
    .use(eventRoutes({ auth, events }))
    .use(reportRoutes({ auth, idempotent, reports, shortUrl }))
    .use(limitRoutes({ auth, listWindows, listQuotas }));
}
