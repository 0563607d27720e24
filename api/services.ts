/** The operations of the API, wired to the stores and to each other. */
import { ownHosts } from "../shared/hosts.ts";
import type { Lifecycle } from "../shared/lifecycle.ts";
import type { Log } from "../shared/log.ts";
import type { Nats } from "../shared/nats.ts";
import { createReceiverRules } from "../shared/webhooks/variables.ts";
import { createClickPoller } from "./analytics/click-poller.ts";
import { createFailureService } from "./analytics/failures/service.ts";
import { createLiveRowReader } from "./analytics/live-rows.ts";
import { createLiveClicks } from "./analytics/live.ts";
import { createAnalyticsService } from "./analytics/service.ts";
import { createBrandingService } from "./branding/service.ts";
import type { MeasuredClickHouse } from "./clickhouse.ts";
import { createClicksService } from "./clicks/service.ts";
import type { Config } from "./config.ts";
import { createTxtReader } from "./domains/dns.ts";
import { checkProofs } from "./domains/proof-checks.ts";
import { createDomainService } from "./domains/service.ts";
import { createEventPositions } from "./events/positions.ts";
import { createEventService } from "./events/service.ts";
import { createEventWaits } from "./events/waits.ts";
import { createKeyService } from "./keys/service.ts";
import { PostgresStreamLeases } from "./limits/stream-leases.ts";
import type { LinksPublisher } from "./links-log/publisher.ts";
import { startRepublishing } from "./links/republish/job.ts";
import { createLinkService } from "./links/service.ts";
import { createUsedClicksReader } from "./links/used-clicks.ts";
import { requireDestination } from "./links/validation.ts";
import type { MailResult } from "./mail/send.ts";
import { startMails } from "./mails.ts";
import { startEventMaintenance } from "./maintenance/events.ts";
import { PasswordHashing } from "./passwords/hashing.ts";
import type { Sql } from "./postgres.ts";
import { startReports } from "./reports/start.ts";
import { createSharedService } from "./shares/reading.ts";
import { createShareService } from "./shares/service.ts";
import { createTagService } from "./tags/service.ts";
import { createViewService } from "./views/service.ts";
import { createWebhookService } from "./webhooks/service.ts";

type ServicesDeps = {
  config: Config;
  sql: Sql;
  clickhouse: MeasuredClickHouse;
  nats: Nats;
  publisher: LinksPublisher;
  lifecycle: Lifecycle;
  log: Log;
  /** Called with what came of each mail. */
  observeMail: (outcome: MailResult["outcome"]) => void;
};

/** Creates the operations, and stops their work in the background with the process. */
export function createServices(deps: ServicesDeps) {
  const { config, sql, clickhouse, lifecycle, log } = deps;
  const shortUrl = new URL(config.SHORT_URL);
  const passwords = new PasswordHashing();
  const { links, domains, hosts } = createLinkServices(deps, shortUrl, passwords);
  const keys = createKeyService({ sql });
  const leases = new PostgresStreamLeases(sql, log);
  lifecycle.onStop("stream leases", () => leases.stop());
  const poller = createClickPoller({ readRows: createLiveRowReader(clickhouse.forService()), log });
  const live = createLiveClicks({ poller, leases });
  const analytics = createAnalyticsService({
    clickhouse,
    links,
    live,
    clicksRetentionDays: config.CLICKS_RETENTION_DAYS,
  });
  const branding = createBrandingService({ sql });
  const waits = createEventWaits({ sql, log });
  const positions = createEventPositions(sql);
  const failures = createFailureService({ clickhouse, links, domains });
  const tokens = startMails(deps);
  const reports = startReports({ sql, lifecycle, log, tokens, analytics, failures, links });
  return {
    /** Host names of the service's own short domain. */
    hosts,
    poller,
    live,
    /** Requests that wait for events. */
    waits,
    /** What the API and the dashboard have in common. */
    common: {
      links,
      domains,
      keys,
      passwords,
      analytics,
      failures,
      clicks: createClicksService({ analytics }),
      shares: createShareService({ sql, links, passwords }),
      tags: createTagService({ sql, shortUrl: shortUrl.origin }),
      branding,
      views: createViewService({ sql }),
      webhooks: createWebhookService({
        sql,
        positions,
        ownSecret: config.WEBHOOKS_SECRET,
        rules: createReceiverRules(config),
      }),
      events: createEventService({ sql, waits, positions }),
      ...reports,
      sendsMails: tokens !== undefined,
      shared: createSharedService({
        sql,
        analytics,
        links,
        passwords,
        branding,
        shortUrl: shortUrl.origin,
      }),
      shortUrl: shortUrl.origin,
    },
  };
}

/**
 * Links and domains need each other: a domain's settings have destinations, which links validate.
 */
function createLinkServices(
  { config, sql, nats, publisher, lifecycle, log }: ServicesDeps,
  shortUrl: URL,
  passwords: PasswordHashing,
) {
  const hosts = ownHosts(config.SHORT_URL, config.SHORT_HOSTS);
  const destinationRules = {
    allowPrivate: config.ALLOW_PRIVATE_TARGETS,
    shortUrl,
    ownHosts: hosts,
  };
  const domains = createDomainService({
    sql,
    publisher,
    readTxt: createTxtReader(config.DNS_SERVERS),
    ownHosts: hosts,
    checkDestination: async (url) =>
      (await requireDestination(url, { destinationRules, domains })).original,
  });
  const readUsedClicks = createUsedClicksReader(nats, log);
  const links = createLinkService({
    sql,
    publisher,
    domains,
    destinationRules,
    passwords,
    readUsedClicks,
  });
  const stopMaintenance = startEventMaintenance({
    sql,
    readUsedClicks,
    shortUrl: shortUrl.origin,
    retentionDays: config.EVENTS_RETENTION_DAYS,
    log,
  });
  lifecycle.onStop("events", stopMaintenance);
  const proofChecks = checkProofs(domains, log);
  lifecycle.onStop("proof checks", () => void proofChecks.stop());
  lifecycle.onStop("republishing", startRepublishing({ sql, publisher, domains, log }));
  return { links, domains, hosts };
}
