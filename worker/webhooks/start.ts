/** Starts the deliveries to webhooks, with connections of their own. */
import { ownHosts } from "../../shared/hosts.ts";
import type { Lifecycle } from "../../shared/lifecycle.ts";
import type { Log } from "../../shared/log.ts";
import { createReceiverRules } from "../../shared/webhooks/variables.ts";
import type { Config } from "../config.ts";
import { openPostgres } from "../postgres.ts";
import { type Deliverer, startDeliverer } from "./deliverer.ts";
import { createResolve } from "./receiver.ts";
import type { Outcome } from "./results.ts";

/** Connections to PostgreSQL: statements are short, and those of clicks have others. */
const CONNECTIONS_MAX = 4;

/** Longest time of a statement, so that a blocked database does not block for ever. */
const STATEMENT_TIMEOUT_MS = 5_000;

type WebhooksDeps = {
  config: Config;
  lifecycle: Lifecycle;
  metrics: {
    observeAttempt(outcome: Outcome): void;
    watchWebhooks(deliverer: Deliverer): void;
  };
  log: Log;
};

/** The part of the worker that delivers: why it should be looked at, undefined if all is well. */
export type Webhooks = { warning(): string | undefined };

export function startWebhooks({ config, lifecycle, metrics, log }: WebhooksDeps): Webhooks {
  if (config.WEBHOOKS_SECRET === undefined) return { warning: () => undefined };
  const sql = openPostgres(config.DATABASE_URL, lifecycle, {
    part: "postgres of webhooks",
    name: "shorthop-webhooks",
    max: CONNECTIONS_MAX,
    idleTimeoutSeconds: 60,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  });
  const deliverer = startDeliverer({
    sql,
    log,
    ownSecret: config.WEBHOOKS_SECRET,
    rules: createReceiverRules(config),
    resolve: createResolve(config.DNS_SERVERS),
    ownHosts: [...ownHosts(config.SHORT_URL, config.SHORT_HOSTS)],
    onAttempt: metrics.observeAttempt,
  });
  lifecycle.onStop("webhooks", deliverer.stop);
  metrics.watchWebhooks(deliverer);
  return {
    warning: () => (deliverer.state() === "ok" ? undefined : deliverer.state()),
  };
}
