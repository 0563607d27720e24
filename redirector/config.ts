/** The redirector's configuration, read from the environment. */
import { join, resolve } from "node:path";

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
import { envPublicKeys } from "../shared/links-log/signature.ts";
import { ALIGNMENT } from "../shared/links-store/record.ts";
import { readOpenFilesMax } from "../shared/metrics.ts";
import { envNatsReplicas, envNatsUrl, natsFileVariables } from "../shared/nats.ts";

/** The metrics port of a single redirector, and the base to which instances add their numbers. */
export const METRICS_PORTS = { single: 9102, instances: 9110 };

/** Maximum bytes that the link cache can address: its offsets have 31 bits. */
const CACHE_BYTES_LIMIT = 2 ** 31 * ALIGNMENT;

const settings = z.object({
  LOG_LEVEL: envLogLevel,
  /** Address and port for short links. Several processes may share a port. */
  REDIRECTOR_HOST: z.string().default("0.0.0.0"),
  REDIRECTOR_PORT: envPort(8080),
  /** Address and port for health and metrics; must not be reachable from outside. */
  REDIRECTOR_METRICS_HOST: z.string().default("127.0.0.1"),
  REDIRECTOR_METRICS_PORT: envOptionalPort(),
  /** The number of this process among the redirectors of its host. */
  INSTANCE: envInstance(),
  NATS_URL: envNatsUrl,
  ...natsFileVariables,
  NATS_REPLICAS: envNatsReplicas,
  /** The public keys of API processes: what nobody signed with one of them is ignored. */
  LINKS_PUBLIC_KEYS: envPublicKeys,
  /** Base URL of short links; its host is the default short domain. */
  SHORT_URL: envUrl(["http", "https"]),
  /** Further host names of the default short domain. */
  SHORT_HOSTS: envHosts(),
  /** Destination of `/`; without it, `/` is a plain page. */
  ROOT_REDIRECT_URL: envUrl(["http", "https"]).optional(),
  /** The public URL of the API, where visitors report links; without it they cannot. */
  API_URL: envUrl(["http", "https"]).optional(),
  /** Hosts whose short links have no about page (`/alias+`). */
  ABOUT_PAGE_OFF_HOSTS: envHosts(),
  /** Directory of the click journal. Each process needs its own directory. */
  JOURNAL_DIR: z.string("must be set to a directory"),
  /** Directory of the links store, which redirectors of a host may share. */
  LINKS_DIR: z.string().optional(),
  /** Maximum bytes of the journal; beyond it, clicks are dropped and counted. */
  JOURNAL_BYTES_MAX: envInteger(4 * 1024 ** 3, 1024 ** 2, 2 ** 50),
  /** Maximum bytes of memory for cached links. */
  CACHE_BYTES_MAX: envInteger(256 * 1024 ** 2, 1024 ** 2, CACHE_BYTES_LIMIT),
  /** Maximum bytes of the stream in which clicks wait for a worker. */
  CLICKS_BYTES_MAX: envInteger(8 * 1024 ** 3, 1024 ** 2, 2 ** 50),
  /** Seconds between two reports of failed requests, each of which is an insert into ClickHouse. */
  FAILURES_INTERVAL_SECONDS: envInteger(60, 1, 900),
  /** Maximum open connections; a new one replaces an idle one. Open files may allow less. */
  CONNECTIONS_MAX: envInteger(50_000, 1, 10_000_000),
  /** Maximum connections per address (in IPv6, per /64), except trusted proxies. */
  CONNECTIONS_PER_ADDRESS_MAX: envInteger(1_000, 1, 10_000_000),
  /** Signs the cookies that unlock links; must be the same for all redirectors. */
  LINK_UNLOCK_SECRET: z.string().min(16, "must have 16 characters at least").optional(),
  /** Files of a certificate and its key, both or neither: TLS without a proxy. */
  TLS_CERT_FILE: z.string().optional(),
  TLS_KEY_FILE: z.string().optional(),
  /** Whether a proxy sends the client's address by the PROXY protocol. */
  PROXY_PROTOCOL: envBoolean(false),
  /** HTML of error pages with `{{title}}`, `{{content}}` and, for many languages, `{{lang}}`. */
  PAGE_TEMPLATE_FILE: z.string().optional(),
  /** City databases (MMDB); without one, rules by country and continent never match. */
  GEOIP_DATABASES: envList(),
  /** Addresses and CIDR blocks of trusted proxies, or their number. */
  TRUSTED_PROXIES: envList(),
});

export const configSchema = settings
  .refine(
    ({ TLS_CERT_FILE, TLS_KEY_FILE }) =>
      (TLS_CERT_FILE === undefined) === (TLS_KEY_FILE === undefined),
    { path: ["TLS_KEY_FILE"], message: "must be set together with TLS_CERT_FILE" },
  )
  .refine(({ PROXY_PROTOCOL, TLS_CERT_FILE }) => !PROXY_PROTOCOL || TLS_CERT_FILE === undefined, {
    path: ["PROXY_PROTOCOL"],
    message: "does not go with TLS_CERT_FILE: let the proxy end TLS",
  });

export type Config = z.output<typeof configSchema>;

/** The folder of the links store: in the journal's directory unless it is configured. */
export const linksDirOf = ({ LINKS_DIR, JOURNAL_DIR }: Config): string =>
  LINKS_DIR ?? join(JOURNAL_DIR, "links");

/**
 * The configured files of certificate and key; undefined without TLS. A relative path is the name
 * of a systemd credential, if there are any (systemd.exec(5), LoadCredential=).
 */
export function getTlsFiles({
  TLS_CERT_FILE: cert,
  TLS_KEY_FILE: key,
  CREDENTIALS_DIRECTORY: dir = "",
}: Config): { cert: string; key: string } | undefined {
  if (cert === undefined || key === undefined) return undefined;
  return { cert: resolve(dir, cert), key: resolve(dir, key) };
}

/** Maximum other files: listeners, NATS, the journal's segments and files of libraries. */
const OTHER_FILES_MAX = 256;

/**
 * Returns how many connections the process may have open; Infinity when that is unlimited or
 * unknown. Without a free file descriptor a listener fails to accept, and is woken again at once,
 * for as long as clients wait.
 */
export const readConnectionsLimit = (read?: () => string): number =>
  Math.max(1, (readOpenFilesMax(read) ?? Infinity) - OTHER_FILES_MAX);
