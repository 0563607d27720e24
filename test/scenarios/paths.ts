/** Paths that several scenarios speak of. */

/** How links get from PostgreSQL to the redirectors, and stay there. */
export const LINKS_LOG = [
  "api/{links-log,links-snapshots}/**",
  "shared/links-log/**",
  "redirector/links/**",
  "shared/links-store/**",
];

/** How clicks get from a redirector's disk into ClickHouse. */
export const CLICKS_WAY = [
  "redirector/redirect/redirects.ts",
  "redirector/journal/**",
  "worker/consumer/**",
  "worker/batches/**",
];

/** What streams and subjects of NATS are, and who may use them. */
export const NATS = [
  "shared/contracts/streams.ts",
  "shared/links-log/{tail,snapshots}.ts",
  "shared/nats.ts",
  "deploy/nats/**",
];

export const CLICKS_STORE = ["worker/migrations/**", "shared/clicks/**"];
