/** The operations of the API, and their work in the background, which stops with the process. */
import { ownHosts } from "../shared/hosts.ts";
import { ReceiverRules } from "../shared/webhooks/variables.ts";
import { ClickPoller, readLiveRows } from "./analytics/click-poller.ts";
import { FailureService } from "./analytics/failures/service.ts";
import { LiveClicks } from "./analytics/live.ts";
import { AnalyticsService } from "./analytics/service.ts";
import { type BrandingService, createBrandingService } from "./branding/service.ts";
import { type ClicksService, createClicksService } from "./clicks/service.ts";
import type { ApiContext } from "./context.ts";
import { createTxtReader } from "./domains/dns.ts";
import { checkProofs } from "./domains/proof-checks.ts";
import { createDomainService, type DomainService } from "./domains/service.ts";
import { createEventPositions } from "./events/positions.ts";
import { createEventService, type EventService } from "./events/service.ts";
import { createEventWaits, type EventWaits } from "./events/waits.ts";
import { KeyService } from "./keys/service.ts";
import { PostgresStreamLeases } from "./limits/stream-leases.ts";
import type { LinksPublisher } from "./links-log/publisher.ts";
import { type DestinationRules, requireDestination } from "./links/destinations.ts";
import { Republishing } from "./links/republishing.ts";
import { LinkService } from "./links/service.ts";
import { NatsUsedClicks } from "./links/used-clicks.ts";
import { startMailQueue } from "./mail/queue.ts";
import { startEventMaintenance } from "./maintenance/events.ts";
import { cleanUpExpiredRows } from "./maintenance/expired-rows.ts";
import { PasswordHashing } from "./passwords/hashing.ts";
import { createReportMails } from "./reports/mails.ts";
import type { ReportService } from "./reports/service.ts";
import { startReports } from "./reports/start.ts";
import { createUnsubscribeTokens, type UnsubscribeTokens } from "./reports/unsubscribe/token.ts";
import type { Unsubscriber } from "./reports/unsubscribe/unsubscriber.ts";
import type { SiteServices } from "./resource-routes.ts";
import { resetMails } from "./sessions/resets.ts";
import { createSharedService, type SharedService } from "./shares/reading.ts";
import { createShareService, type ShareService } from "./shares/service.ts";
import { createTagService, type TagService } from "./tags/service.ts";
import { createViewService, type ViewService } from "./views/service.ts";
import { createWebhookMails } from "./webhooks/mails.ts";
import { createWebhookService, type WebhookService } from "./webhooks/service.ts";

export class Services implements SiteServices {
  /** Host names of the service's own short domain. */
  readonly hosts: ReadonlySet<string>;
  readonly passwords = new PasswordHashing();
  readonly domains: DomainService;
  readonly links: LinkService;
  readonly keys: KeyService;
  readonly poller: ClickPoller;
  readonly live: LiveClicks;
  readonly analytics: AnalyticsService;
  readonly failures: FailureService;
  readonly clicks: ClicksService;
  readonly branding: BrandingService;
  readonly shares: ShareService;
  readonly shared: SharedService;
  readonly tags: TagService;
  readonly views: ViewService;
  readonly webhooks: WebhookService;
  /** Requests that wait for events. */
  readonly waits: EventWaits;
  readonly events: EventService;
  readonly reports: ReportService;
  readonly unsubscriber: Unsubscriber;

  constructor(context: ApiContext, publisher: LinksPublisher) {
    const { config, sql, clickhouse, nats, lifecycle, log, shortUrl } = context;
    const { passwords } = this;
    this.hosts = ownHosts(config.SHORT_URL, config.SHORT_HOSTS);
    const destinationRules = {
      allowPrivate: config.ALLOW_PRIVATE_TARGETS,
      shortUrl: new URL(config.SHORT_URL),
      ownHosts: this.hosts,
    };
    const domains = openDomains(context, publisher, destinationRules);
    this.domains = domains;
    const usedClicks = new NatsUsedClicks(nats, log);
    const links = new LinkService(sql, publisher, domains, destinationRules, passwords, usedClicks);
    this.links = links;
    this.keys = new KeyService(sql);

    const leases = new PostgresStreamLeases(sql, log);
    lifecycle.onStop("stream leases", () => leases.stop());
    const reading = clickhouse.forService();
    this.poller = new ClickPoller((...range) => readLiveRows(reading, ...range), log);
    this.live = new LiveClicks(this.poller, leases);
    const { CLICKS_RETENTION_DAYS } = config;
    const analytics = new AnalyticsService(clickhouse, links, this.live, CLICKS_RETENTION_DAYS);
    this.analytics = analytics;
    const failures = new FailureService(clickhouse, links, domains);
    this.failures = failures;
    this.clicks = createClicksService({ analytics });

    const branding = createBrandingService({ sql });
    this.branding = branding;
    this.shares = createShareService({ sql, links, passwords });
    this.shared = createSharedService({ sql, analytics, links, passwords, branding, shortUrl });
    this.tags = createTagService({ sql, shortUrl });
    this.views = createViewService({ sql });

    const positions = createEventPositions(sql);
    this.waits = createEventWaits({ sql, log });
    this.events = createEventService({ sql, waits: this.waits, positions });
    this.webhooks = createWebhookService({
      sql,
      positions,
      ownSecret: config.WEBHOOKS_SECRET,
      rules: new ReceiverRules(config),
    });

    const tokens = sendMails(context);
    const reports = startReports({ sql, lifecycle, log, tokens, analytics, failures, links });
    this.reports = reports.reports;
    this.unsubscriber = reports.unsubscriber;

    const retentionDays = config.EVENTS_RETENTION_DAYS;
    const stopEvents = startEventMaintenance({ sql, usedClicks, shortUrl, retentionDays, log });
    lifecycle.onStop("events", stopEvents);
    const republishing = new Republishing(sql, publisher, domains, log);
    lifecycle.onStop("republishing", () => republishing.stop());
    repeatChecks(context, domains);
  }
}

/** What each process does once in a while. */
function repeatChecks({ sql, log, lifecycle }: ApiContext, domains: DomainService): void {
  const cleanup = cleanUpExpiredRows(sql, log);
  lifecycle.onStop("expired row cleanup", () => void cleanup.stop());
  const proofChecks = checkProofs(domains, log);
  lifecycle.onStop("proof checks", () => void proofChecks.stop());
}

/** A domain's settings have destinations, which are checked as those of links are. */
function openDomains(
  { config, sql }: ApiContext,
  publisher: LinksPublisher,
  destinationRules: DestinationRules,
): DomainService {
  const domains: DomainService = createDomainService({
    sql,
    publisher,
    readTxt: createTxtReader(config.DNS_SERVERS),
    ownHosts: destinationRules.ownHosts,
    checkDestination: async (url) =>
      (await requireDestination(url, destinationRules, domains)).original,
  });
  return domains;
}

/**
 * Sends mails in the background, if a server is configured. Returns the tokens with which their
 * recipients unsubscribe from reports; undefined if no mails are sent.
 */
function sendMails(context: ApiContext): UnsubscribeTokens | undefined {
  const { sql, log, lifecycle, metrics, mailSettings: settings } = context;
  if (settings === undefined) return undefined;
  const tokens = createUnsubscribeTokens(settings.ownSecret);
  const kinds = {
    report: createReportMails({ sql, settings, tokens }),
    webhook: createWebhookMails({ sql, settings }),
    password_reset: resetMails(sql, settings.dashboardUrl),
  };
  const onOutcome = metrics.observeMail.bind(metrics);
  lifecycle.onStop("mails", startMailQueue({ sql, settings, kinds, log, onOutcome }));
  return tokens;
}
