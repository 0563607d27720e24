/** The operations of the API, and their work in the background, which stops with the process. */
import { ownHosts } from "../shared/hosts.ts";
import { ReceiverRules } from "../shared/webhooks.ts";
import { ClickPoller, readLiveRows } from "./analytics/click-poller.ts";
import { FailureService } from "./analytics/failures.ts";
import { LiveClicks, PostgresStreamLeases } from "./analytics/live.ts";
import { AnalyticsService } from "./analytics/service.ts";
import { BrandingService } from "./branding/service.ts";
import { ClicksService } from "./clicks/service.ts";
import type { ApiContext } from "./context.ts";
import { DomainService } from "./domains/service.ts";
import { resolveTxt } from "./domains/verification.ts";
import { LedgerWriter } from "./events/record.ts";
import { EventPositions, EventService, EventWaits } from "./events/service.ts";
import { KeyMails, KeyReports } from "./keys/reports.ts";
import { KeyService } from "./keys/service.ts";
import type { LinksPublisher } from "./links-log/publisher.ts";
import { type DestinationRules, requireDestination } from "./links/destinations.ts";
import { HostLists } from "./links/host-lists.ts";
import { Republishing } from "./links/republishing.ts";
import { LinkService } from "./links/service.ts";
import { NatsUsedClicks } from "./links/used-clicks.ts";
import { MailQueue } from "./mail/queue.ts";
import { Maintenance } from "./maintenance.ts";
import { PasswordHashing } from "./passwords/hashing.ts";
import { ReportMails, Unsubscriber, UnsubscribeTokens } from "./reports/mails.ts";
import { ReportMaker, ReportStatistics } from "./reports/maker.ts";
import { ReportService } from "./reports/service.ts";
import { HostListWatch, LinkReports } from "./reviews/service.ts";
import { ResetMails } from "./sessions/resets.ts";
import { SharedService } from "./shares/reading.ts";
import { ShareService } from "./shares/service.ts";
import { TagService } from "./tags/service.ts";
import { ViewService } from "./views/service.ts";
import { WebhookMails } from "./webhooks/mails.ts";
import { WebhookService } from "./webhooks/service.ts";

export class Services {
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
  readonly linkReports: LinkReports;
  readonly keyReports: KeyReports;

  constructor(context: ApiContext, publisher: LinksPublisher) {
    const { config, sql, clickhouse, nats, lifecycle, log, shortUrl } = context;
    this.hosts = ownHosts(config.SHORT_URL, config.SHORT_HOSTS);
    const lists = new HostLists(config, log);
    const destinationRules = {
      lists,
      allowPrivate: config.ALLOW_PRIVATE_TARGETS,
      shortUrl: new URL(config.SHORT_URL),
      ownHosts: this.hosts,
    };
    this.domains = openDomains(context, publisher, destinationRules);
    const usedClicks = new NatsUsedClicks(nats, log);
    this.links = new LinkService(
      sql,
      publisher,
      this.domains,
      destinationRules,
      this.passwords,
      usedClicks,
    );
    this.keys = new KeyService(sql);

    const leases = new PostgresStreamLeases(sql, log);
    lifecycle.onStop("stream leases", () => leases.stop());
    const reading = clickhouse.forService();
    this.poller = new ClickPoller((...range) => readLiveRows(reading, ...range), log);
    this.live = new LiveClicks(this.poller, leases);
    const { links, domains, passwords } = this;
    const retentionDays = config.CLICKS_RETENTION_DAYS;
    this.analytics = new AnalyticsService(clickhouse, links, this.live, retentionDays);
    this.failures = new FailureService(clickhouse, links, domains);
    this.clicks = new ClicksService(this.analytics, new LedgerWriter(sql));

    const { analytics, failures } = this;
    this.branding = new BrandingService(sql);
    this.shares = new ShareService(sql, links, passwords);
    this.shared = new SharedService(sql, analytics, links, this.branding, passwords, shortUrl);
    this.tags = new TagService(sql, shortUrl);
    this.views = new ViewService(sql);

    const positions = new EventPositions(sql);
    this.waits = new EventWaits(sql, log);
    this.events = new EventService(sql, this.waits, positions);
    const rules = new ReceiverRules(config);
    this.webhooks = new WebhookService(sql, positions, rules, config.WEBHOOKS_SECRET);

    const tokens = sendMails(context);
    const statistics = new ReportStatistics(analytics, failures, links);
    const maker = new ReportMaker(sql, statistics, context.sendsMails, log);
    maker.start();
    lifecycle.onStop("reports", () => maker.stop());
    this.reports = new ReportService(sql, links, maker);
    this.unsubscriber = new Unsubscriber(sql, tokens);
    this.linkReports = new LinkReports(sql, destinationRules.shortUrl, this.hosts);
    this.keyReports = new KeyReports(sql, context.sendsMails);

    if (config.DESTINATION_LISTS.length > 0) {
      const watch = new HostListWatch(sql, lists, config.DESTINATION_LISTS_ACTION, log);
      lifecycle.onStop("lists of hosts", () => watch.stop());
    }
    const republishing = new Republishing(sql, publisher, log);
    lifecycle.onStop("republishing", () => republishing.stop());
    const maintenance = new Maintenance(context, domains, usedClicks);
    lifecycle.onStop("maintenance", () => maintenance.stop());
  }
}

/** A domain's settings have destinations, which are checked as those of links are. */
function openDomains(
  { config, sql }: ApiContext,
  publisher: LinksPublisher,
  destinationRules: DestinationRules,
): DomainService {
  const domains: DomainService = new DomainService(
    sql,
    publisher,
    (name) => resolveTxt(config.DNS_SERVERS, name),
    destinationRules.ownHosts,
    async (url) => (await requireDestination(url, destinationRules, domains)).original,
  );
  return domains;
}

/**
 * Sends mails in the background, if a server is configured. Returns the tokens with which their
 * recipients unsubscribe from reports; undefined if no mails are sent.
 */
function sendMails(context: ApiContext): UnsubscribeTokens | undefined {
  const { sql, log, lifecycle, metrics, mailSettings: settings } = context;
  if (settings === undefined) return undefined;
  const tokens = new UnsubscribeTokens(settings.ownSecret);
  const kinds = {
    report: new ReportMails(sql, settings.apiUrl, tokens),
    webhook: new WebhookMails(sql, settings),
    key: new KeyMails(sql, settings.dashboardUrl),
    password_reset: new ResetMails(sql, settings.dashboardUrl),
  };
  const queue = new MailQueue(sql, settings, kinds, log, (outcome) => metrics.observeMail(outcome));
  queue.start();
  lifecycle.onStop("mails", () => queue.stop());
  return tokens;
}
