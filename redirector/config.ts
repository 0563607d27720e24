/** The redirector's configuration. */
import * as z from "zod";

import {
  ConfigError,
  envBoolean,
  envInteger,
  envList,
  envLogLevel,
  envPort,
  envUrl,
} from "../shared/env.ts";
import { CACHE_BYTES_LIMIT } from "./cache/link-cache.ts";

const settings = z.object({
  LOG_LEVEL: envLogLevel,
  /** Address and port of short links. Several processes may share one. */
  REDIRECTOR_HOST: z.string().default("0.0.0.0"),
  REDIRECTOR_PORT: envPort(8080),
  /** Address and port of health and metrics; never to be reached from outside. */
  REDIRECTOR_METRICS_HOST: z.string().default("127.0.0.1"),
  REDIRECTOR_METRICS_PORT: envPort(9102),
  NATS_URL: envUrl(["nats", "tls"]),
  /** Where short links are served; its host is the default short domain. */
  SHORT_URL: envUrl(["http", "https"]),
  /** More host names that mean the default short domain. */
  SHORT_HOSTS: envList(),
  /** Where `/` leads; a plain page when not set. */
  ROOT_REDIRECT_URL: envUrl(["http", "https"]).optional(),
  /** Where clicks wait until JetStream has them. Each process needs a directory of its own. */
  JOURNAL_DIR: z.string("must be set to a directory"),
  /** The most bytes the journal may take; beyond, redirects go on and clicks are dropped, counted. */
  JOURNAL_BYTES_MAX: envInteger(4 * 1024 ** 3, 1024 ** 2, 2 ** 50),
  /** The most memory for cached links. */
  CACHE_BYTES_MAX: envInteger(256 * 1024 ** 2, 1024 ** 2, CACHE_BYTES_LIMIT),
  /** The most bytes of clicks that wait in JetStream for a worker. */
  CLICKS_BYTES_MAX: envInteger(8 * 1024 ** 3, 1024 ** 2, 2 ** 50),
  /** Connections at a time; further ones are closed at once. */
  CONNECTIONS_MAX: envInteger(50_000, 1, 10_000_000),
  /** What passes of people who typed a link's password are signed with; shared by all redirectors. */
  PASSWORD_PASS_SECRET: z.string().min(16, "must have 16 characters at least").optional(),
  /** Files of a certificate and its key, both or neither: TLS without a proxy in front. */
  TLS_CERT_FILE: z.string().optional(),
  TLS_KEY_FILE: z.string().optional(),
  /** Whether a proxy in front says by the PROXY protocol whose each connection is. */
  PROXY_PROTOCOL: envBoolean(false),
  /** An HTML file that the pages people see are made of, with `{{title}}` and `{{content}}`. */
  PAGE_TEMPLATE_FILE: z.string().optional(),
  /** Addresses and CIDR blocks of proxies, or how many there are. */
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

/** The certificate, where there is one. */
export const tlsOf = ({
  TLS_CERT_FILE: cert,
  TLS_KEY_FILE: key,
}: z.output<typeof configSchema>): { cert: string; key: string } | undefined =>
  cert === undefined || key === undefined ? undefined : { cert, key };

/** The operator's own template, where there is one. Throws when it cannot be read, or is none. */
export async function templateOf({
  PAGE_TEMPLATE_FILE: path,
}: z.output<typeof configSchema>): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const template = await Bun.file(path)
    .text()
    .catch((cause: unknown) => {
      throw new ConfigError(`PAGE_TEMPLATE_FILE: cannot be read: ${path}`, { cause });
    });
  for (const place of ["{{title}}", "{{content}}"]) {
    if (!template.includes(place))
      throw new ConfigError(`PAGE_TEMPLATE_FILE: ${path} has no ${place}`);
  }
  return template;
}
