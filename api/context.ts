/**
 * The context of a process of the API: its configuration, log and lifecycle, the clients of its
 * stores, and its metrics. `main.ts` opens it; services and sites take it.
 */
import { join } from "node:path";

import { TrustedProxies } from "../shared/client-address.ts";
import { EventLoopWatch } from "../shared/event-loop.ts";
import type { Lifecycle } from "../shared/lifecycle.ts";
import type { Log } from "../shared/log.ts";
import { type Nats, NatsClient, Replies } from "../shared/nats.ts";
import { CLIENT_FILE, version } from "../shared/version.ts";
import { clickHouseClient, MeasuredClickHouse } from "./clickhouse.ts";
import type { Config } from "./config.ts";
import { type MailSettings, readMailSettings, readOrigins } from "./mail/settings.ts";
import { ApiMetrics } from "./metrics.ts";
import { isDiskFull, postgresPool, type Sql } from "./postgres.ts";
import type { CompletedRequest, SiteContext } from "./site.ts";
import { PostgresStores } from "./stores.ts";
import { RequestTracing } from "./tracing.ts";

export class ApiContext implements SiteContext {
  readonly config: Config;
  readonly lifecycle: Lifecycle;
  readonly log: Log;
  readonly sql: Sql;
  readonly clickhouse: MeasuredClickHouse;
  readonly nats: Nats;
  /** Replies to requests over NATS. */
  readonly replies: Replies;
  readonly metrics: ApiMetrics;
  readonly eventLoop: EventLoopWatch;
  readonly fullDisk = new FullDisk();
  readonly stores: PostgresStores;
  readonly proxies: TrustedProxies;
  readonly shortUrl: string;
  readonly apiUrl: string | undefined;
  /** The origin of the dashboard, without a trailing slash; undefined where none is served. */
  readonly dashboardUrl: string | undefined;
  readonly corsOrigins: readonly string[];
  readonly clientFile: string;
  /** How mails are sent; undefined if they are not. */
  readonly mailSettings: MailSettings | undefined;
  readonly #tracing: RequestTracing | undefined;

  private constructor(
    config: Config,
    lifecycle: Lifecycle,
    log: Log,
    tracing: RequestTracing | undefined,
  ) {
    this.config = config;
    this.lifecycle = lifecycle;
    this.log = log;
    this.sql = postgresPool(config.DATABASE_URL, config.DATABASE_CONNECTIONS_MAX);
    lifecycle.onStop("postgres", () => this.sql.end({ timeout: 5 }));
    const clickhouse = clickHouseClient(config.CLICKHOUSE_URL);
    lifecycle.onStop("clickhouse", () => clickhouse.close());
    this.nats = new NatsClient(config.NATS_URL, "api", log, config);
    lifecycle.onStop("nats", () => this.nats.close());
    this.replies = new Replies(log);
    this.metrics = new ApiMetrics(this.sql, this.replies);
    this.clickhouse = new MeasuredClickHouse(clickhouse, this.metrics.registry);
    this.eventLoop = new EventLoopWatch(this.metrics.registry);
    this.#tracing = tracing;
    if (tracing !== undefined) lifecycle.onStop("tracing", () => tracing.stop());
    this.stores = new PostgresStores(this.sql);
    this.proxies = new TrustedProxies(config.TRUSTED_PROXIES, warnOfUntrustedProxy(log));
    const { apiUrl, dashboardUrl } = readOrigins(config);
    this.shortUrl = new URL(config.SHORT_URL).origin;
    this.apiUrl = apiUrl;
    this.dashboardUrl = dashboardUrl;
    this.corsOrigins = config.API_CORS_ORIGINS;
    this.clientFile = join(config.DASHBOARD_DIR, CLIENT_FILE);
    this.mailSettings = readMailSettings(config);
  }

  /** Opens connections when they are first needed, and closes them when the process stops. */
  static async open(config: Config, lifecycle: Lifecycle, log: Log): Promise<ApiContext> {
    const collector = config.OTEL_EXPORTER_OTLP_ENDPOINT;
    const tracing =
      collector === undefined ? undefined : await RequestTracing.start(collector, version);
    return new ApiContext(config, lifecycle, log, tracing);
  }

  get sendsMails(): boolean {
    return this.mailSettings !== undefined;
  }

  isStopping(): boolean {
    return this.lifecycle.stopping();
  }

  isBehind(): boolean {
    return this.eventLoop.isBehind();
  }

  noteFailure(error: unknown): void {
    this.fullDisk.record(error);
  }

  noteCompleted(completed: CompletedRequest): void {
    this.metrics.observe(completed);
    this.#tracing?.observe(completed);
  }
}

/**
 * Logs once that a proxy may be missing from TRUSTED_PROXIES: all its clients then share one rate
 * limit.
 */
function warnOfUntrustedProxy(log: Log): () => void {
  let warned = false;
  return () => {
    if (warned) return;
    warned = true;
    log.warn({ variable: "TRUSTED_PROXIES" }, "forwarded_for_from_untrusted_peer");
  };
}

/** How long a full disk is reported after the last failed request. */
const REMEMBERED_MS = 60_000;

/** The message for operators; no process needs a restart. */
const DATABASE_FULL =
  "its disk is full: nothing can be created or changed until there is room; links go on redirecting";

/**
 * Remembers whether requests failed because PostgreSQL's disk is full: small writes may succeed
 * while others fail.
 */
export class FullDisk {
  readonly #now: () => number;
  #metAt = -Infinity;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Records the error of a failed request. */
  record(error: unknown): void {
    if (isDiskFull(error)) this.#metAt = this.#now();
  }

  /** The current problem; undefined when no recent request failed on a full disk. */
  problem(): string | undefined {
    return this.#now() - this.#metAt < REMEMBERED_MS ? DATABASE_FULL : undefined;
  }
}
