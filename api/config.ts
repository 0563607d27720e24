/** The API's configuration. */
import * as z from "zod";

import {
  envBoolean,
  envHosts,
  envInstance,
  envInteger,
  envList,
  envLogLevel,
  envOptionalPort,
  envPort,
  envUrl,
} from "../shared/env.ts";
import { linksKeyVariables } from "../shared/links-log/signature.ts";
import { envNatsReplicas, envNatsUrl, natsFileVariables } from "../shared/nats.ts";
import { envPostgresUrl } from "../shared/postgres.ts";
import { webhookVariables } from "../shared/webhooks.ts";
import { hostListVariables } from "./links/host-lists.ts";
import { isMailAddress, parseMailServer } from "./mail/settings.ts";
import { oidcVariables, requireOidcNeeds } from "./oidc/settings.ts";

/** The metrics port of a single API process, and the base to which instances add their numbers. */
export const METRICS_PORTS = { single: 9101, instances: 9510 };

/** The APIs of other products that can be served beside /v1. */
const COMPATIBLE = ["yourls", "bitly", "shlink"] as const;

export type CompatName = (typeof COMPATIBLE)[number];

const variables = z.object({
  LOG_LEVEL: envLogLevel,
  /** Address and port of /v1. */
  API_HOST: z.string().default("0.0.0.0"),
  API_PORT: envPort(3000),
  /**
   * Origins, such as https://app.example.com, whose pages may call /v1 from a browser; `*` for all.
   */
  API_CORS_ORIGINS: envList().refine(
    (origins) => origins.every((origin) => origin === "*" || URL.parse(origin)?.origin === origin),
    "must be origins such as https://app.example.com, without a path, or *",
  ),
  /** Other products' APIs to serve beside /v1, for tools that speak them. */
  COMPAT: envList().pipe(
    z.array(z.enum(COMPATIBLE, `must be names out of ${COMPATIBLE.join(", ")}`)),
  ),
  /** Address and port of health and metrics; must not be reachable from outside. */
  API_METRICS_HOST: z.string().default("127.0.0.1"),
  API_METRICS_PORT: envOptionalPort(),
  /** The number of this process among the API processes of its host, which share their ports. */
  INSTANCE: envInstance(),
  DATABASE_URL: envPostgresUrl,
  DATABASE_CONNECTIONS_MAX: envInteger(20, 1, 1_000),
  NATS_URL: envNatsUrl,
  ...natsFileVariables,
  NATS_REPLICAS: envNatsReplicas,
  ...linksKeyVariables,
  CLICKHOUSE_URL: envUrl(["http", "https"]),
  /** Retention of single clicks in days, as configured for the worker's `migrate`; 0 for ever. */
  CLICKS_RETENTION_DAYS: envInteger(0, 0, 36_500),
  /** Retention of events in days. */
  EVENTS_RETENTION_DAYS: envInteger(30, 1, 3_650),
  /** Retention of the installation's ledger in days: operators' commands, proofs of erasures. */
  AUDIT_RETENTION_DAYS: envInteger(365, 1, 3_650),
  /**
   * The URL that short links are served at, e.g. https://short.example.com; `short_url` is built
   * from it.
   */
  SHORT_URL: envUrl(["http", "https"]),
  /**
   * The URL at which clients reach /v1, e.g. https://api.example.com; by default, the host of each
   * request.
   */
  API_URL: envUrl(["http", "https"]).optional(),
  /** Further host names of the default short domain. */
  SHORT_HOSTS: envHosts(),
  /** Resolvers that verify custom domains, `address` or `address:port`; the system's when empty. */
  DNS_SERVERS: envList(),
  /** Whether links may point to private addresses and localhost. */
  ALLOW_PRIVATE_TARGETS: envBoolean(false),
  ...hostListVariables,
  /** The action on a link that exists when its destination comes to be on a list. */
  DESTINATION_LISTS_ACTION: z.enum(["review", "take_down"]).default("review"),
  ...webhookVariables,
  /**
   * The server that sends mails, smtp://user:password@host:port, or smtps: for TLS from the start;
   * without it, no mails are sent.
   */
  SMTP_URL: z
    .string()
    .refine(
      (text) => parseMailServer(text) !== undefined,
      "must be smtp://host:port or smtps://host:port, with user:password@ if the server needs it",
    )
    .optional(),
  /** The address that mails come from. */
  SMTP_FROM: z.string().refine(isMailAddress, "must be an e-mail address").optional(),
  /** The collector that traces are sent to, by OTLP over HTTP; without it, none are sent. */
  OTEL_EXPORTER_OTLP_ENDPOINT: envUrl(["http", "https"]).optional(),
  /** Addresses and CIDR blocks of the trusted proxies, or their number. */
  TRUSTED_PROXIES: envList(),
  /**
   * The dashboard's URL in browsers, e.g. https://app.example.com; without it, no dashboard is
   * served.
   */
  DASHBOARD_URL: envUrl(["http", "https"]).optional(),
  /** Address and port of the dashboard. */
  DASHBOARD_HOST: z.string().default("0.0.0.0"),
  DASHBOARD_PORT: envPort(3001),
  /** The secret that signs session cookies; the same for all API processes. */
  DASHBOARD_SECRET: z.string().min(32, "must have 32 characters at least").optional(),
  ...oidcVariables,
  /** The folder of the built dashboard. */
  DASHBOARD_DIR: z.string().default("/opt/shorthop/dashboard"),
});

/** Mails need a sender, and an address and a secret to unsubscribe. */
const MAIL_NEEDS = ["SMTP_FROM", "API_URL", "DASHBOARD_SECRET"] as const;

export const configSchema = variables
  .refine(
    ({ DASHBOARD_URL, DASHBOARD_SECRET }) =>
      DASHBOARD_URL === undefined || DASHBOARD_SECRET !== undefined,
    { path: ["DASHBOARD_SECRET"], message: "must be set with DASHBOARD_URL" },
  )
  .superRefine(requireOidcNeeds)
  .superRefine((config, context) => {
    if (config.SMTP_URL === undefined) return;
    for (const name of MAIL_NEEDS)
      if (config[name] === undefined)
        context.addIssue({ code: "custom", path: [name], message: "must be set with SMTP_URL" });
  });

export type Config = z.output<typeof configSchema>;

/** The configuration of `migrate`. */
export const migrateConfigSchema = variables.pick({ LOG_LEVEL: true, DATABASE_URL: true });
