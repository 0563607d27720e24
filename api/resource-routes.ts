/**
 * The routes of all resources, which `/v1` offers to API keys and the dashboard's site to its
 * users.
 */
import { Elysia } from "elysia";

import { analyticsRoutes, failureRoutes } from "./analytics/routes.ts";
import { brandingRoutes } from "./branding/routes.ts";
import { clicksRoutes } from "./clicks/routes.ts";
import { domainRoutes } from "./domains/routes.ts";
import { eventRoutes } from "./events/routes.ts";
import { keyRoutes } from "./keys/routes.ts";
import { limitRoutes } from "./limits-routes.ts";
import { qrRoutes } from "./links/qr/routes.ts";
import { bulkLinkRoutes, linkRoutes } from "./links/routes.ts";
import { reportRoutes } from "./reports/routes.ts";
import type { Services } from "./services.ts";
import { shareRoutes } from "./shares/routes.ts";
import type { Site, SiteContext } from "./site.ts";
import { tagRoutes } from "./tags/routes.ts";
import { viewRoutes } from "./views/routes.ts";
import { webhookRoutes } from "./webhooks/routes.ts";

export function resourceRoutes(site: Site, context: SiteContext, services: Services) {
  const auth = site.access;
  const { stores, shortUrl } = context;
  const { links, analytics, failures, clicks, domains, keys } = services;
  const { shares, tags, branding, views, events, webhooks, reports } = services;
  const originOf = (request: Request): string => site.originOf(request);
  return new Elysia()
    .use(linkRoutes(auth, links, shortUrl))
    .use(bulkLinkRoutes(auth, links, shortUrl))
    .use(qrRoutes(auth, links, branding, shortUrl))
    .use(tagRoutes(auth, tags))
    .use(analyticsRoutes(auth, analytics))
    .use(failureRoutes(auth, failures))
    .use(clicksRoutes(auth, clicks))
    .use(domainRoutes(auth, domains, shortUrl))
    .use(keyRoutes(auth, keys))
    .use(shareRoutes(auth, shares, originOf))
    .use(brandingRoutes(auth, branding))
    .use(viewRoutes(auth, views))
    .use(webhookRoutes(auth, webhooks))
    .use(eventRoutes(auth, events))
    .use(reportRoutes(auth, reports, shortUrl))
    .use(limitRoutes(auth, stores));
}
