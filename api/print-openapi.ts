/**
 * `bun run openapi`: prints the OpenAPI document. Opens no connections, because generating it needs
 * no database.
 */
import { Registry } from "prom-client";

import { createLog } from "../shared/log.ts";
import { ReceiverRules } from "../shared/webhooks/variables.ts";
import { ClickPoller } from "./analytics/click-poller.ts";
import { FailureService } from "./analytics/failures/service.ts";
import { LiveClicks } from "./analytics/live.ts";
import { AnalyticsService } from "./analytics/service.ts";
import { createApp } from "./app.ts";
import { createBrandingService } from "./branding/service.ts";
import { MeasuredClickHouse, openClickHouse } from "./clickhouse.ts";
import { createClicksService } from "./clicks/service.ts";
import { createTxtReader } from "./domains/dns.ts";
import { createDomainService } from "./domains/service.ts";
import { createEventPositions } from "./events/positions.ts";
import { createKeyService } from "./keys/service.ts";
import { createStreamLeases } from "./limits/stream-leases.ts";
import { createLinkService } from "./links/service.ts";
import { PLACEHOLDERS } from "./openapi/addresses.ts";
import { PasswordHashing } from "./passwords/hashing.ts";
import { openPostgres } from "./postgres.ts";
import { createReportService } from "./reports/service.ts";
import { createUnsubscriber } from "./reports/unsubscribe/unsubscriber.ts";
import { createSharedService } from "./shares/reading.ts";
import { createShareService } from "./shares/service.ts";
import { createStores } from "./stores.ts";
import { createTagService } from "./tags/service.ts";
import { createViewService } from "./views/service.ts";
import { createWebhookService } from "./webhooks/service.ts";

const { shortUrl } = PLACEHOLDERS;
const sql = openPostgres("postgres://localhost", 1);
const clickhouse = new MeasuredClickHouse(openClickHouse("http://localhost"), new Registry());
const ownHosts = new Set<string>();
const publisher = { publish: () => Promise.resolve(false) };
const domains = createDomainService({
  sql,
  publisher,
  readTxt: createTxtReader([]),
  ownHosts,
  checkDestination: (url) => Promise.resolve(url),
});
const passwords = new PasswordHashing();
const links = createLinkService({
  sql,
  domains,
  publisher,
  passwords,
  destinationRules: { allowPrivate: false, shortUrl: new URL("http://localhost"), ownHosts },
  readUsedClicks: () => Promise.resolve(undefined),
});

const log = createLog("api", "fatal");

const leases = createStreamLeases({ sql, log });
leases.stop();

const live = new LiveClicks(new ClickPoller(() => Promise.resolve([]), log), leases);

const analytics = new AnalyticsService(clickhouse, links, live, 0);

const branding = createBrandingService({ sql });

const failures = new FailureService(clickhouse, links, domains);

const app = createApp({
  log,
  stores: createStores(sql),
  unsubscriber: createUnsubscriber({ sql, tokens: undefined }),
  clientAddress: () => "",
  links,
  domains,
  keys: createKeyService({ sql }),
  shares: createShareService({ sql, links, passwords }),
  tags: createTagService({ sql, shortUrl: "https://sho.rt" }),
  shared: createSharedService({ sql, analytics, links, passwords, branding, shortUrl }),
  branding,
  views: createViewService({ sql }),
  webhooks: createWebhookService({
    sql,
    positions: createEventPositions(sql),
    ownSecret: undefined,
    rules: new ReceiverRules({ WEBHOOK_NETWORKS_ALLOWED: [], WEBHOOK_PORTS_ALLOWED: [] }),
  }),
  events: { list: () => Promise.reject(new Error("Nothing is recorded.")) },
  analytics,
  failures,
  reports: createReportService({
    sql,
    analytics,
    failures,
    links,
    sendsMails: false,
  }),
  clicks: createClicksService({ analytics }),
  isStopping: () => false,
  isBehind: () => false,
  observe: () => undefined,
  // Belongs to no installation: generated clients keep the placeholder.
  shortUrl,
});
const response = await app.handle(new Request("http://localhost/v1/openapi.json"));
console.log(JSON.stringify(await response.json(), null, 2));
