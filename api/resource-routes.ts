/**
 * The routes of all resources, which `/v1` offers to API keys and the dashboard's site to its
 * users.
 */
import { Elysia } from "elysia";

import type { FailureService } from "./analytics/failures.ts";
import { analyticsRoutes, failureRoutes } from "./analytics/routes.ts";
import type { AnalyticsService } from "./analytics/service.ts";
import { brandingRoutes } from "./branding/routes.ts";
import type { BrandingService } from "./branding/service.ts";
import { clicksRoutes } from "./clicks/routes.ts";
import type { ClicksService } from "./clicks/service.ts";
import { domainRoutes } from "./domains/routes.ts";
import type { DomainService } from "./domains/service.ts";
import { eventRoutes } from "./events/routes.ts";
import type { EventService } from "./events/service.ts";
import { Idempotency } from "./idempotency/idempotency.ts";
import type { KeyReports } from "./keys/reports.ts";
import { keyRoutes } from "./keys/routes.ts";
import type { KeyService } from "./keys/service.ts";
import { limitRoutes } from "./limits-routes.ts";
import { qrRoutes } from "./links/qr/routes.ts";
import { bulkLinkRoutes, linkRoutes } from "./links/routes.ts";
import type { LinkService } from "./links/service.ts";
import type { Unsubscriber } from "./reports/mails.ts";
import { reportRoutes } from "./reports/routes.ts";
import type { ReportService } from "./reports/service.ts";
import type { LinkReports } from "./reviews/service.ts";
import type { SharedService } from "./shares/reading.ts";
import { shareRoutes } from "./shares/routes.ts";
import type { ShareService } from "./shares/service.ts";
import type { Site, SiteContext } from "./site.ts";
import { tagRoutes } from "./tags/routes.ts";
import type { TagService } from "./tags/service.ts";
import { viewRoutes } from "./views/routes.ts";
import type { ViewService } from "./views/service.ts";
import { webhookRoutes } from "./webhooks/routes.ts";
import type { WebhookService } from "./webhooks/service.ts";

/** The operations that the sites offer. */
export interface SiteServices {
  readonly links: LinkService;
  readonly analytics: AnalyticsService;
  readonly failures: FailureService;
  readonly clicks: ClicksService;
  readonly keys: KeyService;
  readonly domains: DomainService;
  readonly shares: ShareService;
  readonly shared: SharedService;
  readonly tags: TagService;
  readonly branding: BrandingService;
  readonly views: ViewService;
  readonly webhooks: WebhookService;
  readonly events: EventService;
  readonly reports: ReportService;
  readonly unsubscriber: Unsubscriber;
  readonly linkReports: LinkReports;
  readonly keyReports: KeyReports;
}

export function resourceRoutes(site: Site, context: SiteContext, services: SiteServices) {
  const auth = site.access;
  const { stores, shortUrl } = context;
  const { links, analytics, failures, clicks, domains, keys } = services;
  const { shares, tags, branding, views, events, webhooks, reports } = services;
  const originOf = (request: Request): string => site.originOf(request);
  const idempotency = new Idempotency(stores.requests);
  return new Elysia()
    .use(linkRoutes(auth, idempotency, links, shortUrl))
    .use(bulkLinkRoutes(auth, idempotency, links, shortUrl))
    .use(qrRoutes(auth, links, branding, shortUrl))
    .use(tagRoutes(auth, tags))
    .use(analyticsRoutes(auth, analytics))
    .use(failureRoutes(auth, failures))
    .use(clicksRoutes(auth, clicks))
    .use(domainRoutes(auth, idempotency, domains, shortUrl))
    .use(keyRoutes(auth, idempotency, keys))
    .use(shareRoutes(auth, idempotency, shares, originOf))
    .use(brandingRoutes(auth, branding))
    .use(viewRoutes(auth, views))
    .use(webhookRoutes(auth, idempotency, webhooks))
    .use(eventRoutes(auth, events))
    .use(reportRoutes(auth, idempotency, reports, shortUrl))
    .use(limitRoutes(auth, stores));
}
