/**
 * Checks a process before it starts, or an installation for `shorthop doctor`: whether the
 * configuration is valid, and whether the stores are usable. A check reports each problem with its
 * remedy, or that all is well.
 */
import * as z from "zod";

import { ConfigError, INSTANCES_MAX, loadConfig, type MetricsPorts } from "./env.ts";
import type { PartName } from "./internal-server.ts";
import { withTimeout } from "./timeout.ts";

/** A problem in words, and its remedy. With a warning, the process still works. */
export type Problem = { status: "warning" | "failed"; detail: string; mend: string };

/** The problems that a check found; several if it checks several things. */
type Outcome = Problem | readonly Problem[] | undefined | void;

export type Check = {
  /** The environment variable that is checked, or a few words. */
  name: string;
  /** Returns the problems, if any. An error that it throws is a failure. */
  run: () => Outcome | Promise<Outcome>;
  /** The remedy when `run` throws. */
  mend: string;
};

export const findingSchema = z.object({
  check: z.string(),
  status: z.enum(["ok", "warning", "failed"]),
  detail: z.string().optional(),
  mend: z.string().optional(),
});

export type Finding = z.output<typeof findingSchema>;

/** Returns the checks of a process for its configuration. */
export type Checks<Config> = {
  /** Checks that the process can start. */
  required: (config: Config) => Check[];
  /** Further checks, for `shorthop doctor`. */
  thorough?: (config: Config) => Check[];
};

const CHECK_TIMEOUT_MS = 5_000;

/** Runs one check after another. */
export async function runChecks(checks: readonly Check[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { name, run, mend } of checks) {
    const outcome = await withTimeout(Promise.resolve().then(run), CHECK_TIMEOUT_MS).catch(
      (error: unknown): Problem => ({ status: "failed", detail: messageOf(error), mend }),
    );
    const problems = [outcome ?? []].flat();
    if (problems.length === 0) findings.push({ check: name, status: "ok" });
    findings.push(...problems.map((problem) => ({ check: name, ...problem })));
  }
  return findings;
}

/** Some errors have only a code, such as that of several connection attempts. */
const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return error.message || ("code" in error ? String(error.code) : error.name);
};

/**
 * Loads a configuration and runs its checks. If the configuration is invalid, that is the only
 * finding.
 */
async function examine<Schema extends z.ZodObject>(
  schema: Schema,
  env: Record<string, string | undefined>,
  checksOf: (config: z.output<Schema>) => Check[],
): Promise<Finding[]> {
  try {
    const config = loadConfig(schema, env);
    return [{ check: "configuration", status: "ok" }, ...(await runChecks(checksOf(config)))];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const mend = "Correct the named variables (docs/configuration.md).";
    return [{ check: "configuration", status: "failed", detail: error.message, mend }];
  }
}

/** `check` of a process: prints lines, and exits without closing the connections of the checks. */
export async function printCheck<Schema extends z.ZodObject>(
  schema: Schema,
  env: Record<string, string | undefined>,
  { required }: Checks<z.output<Schema>>,
): Promise<void> {
  const findings = await examine(schema, env, required);
  console.log(findings.map(formatFinding).join("\n"));
  process.exit(exitCodeOf(findings));
}

/** `doctor` of a process: prints JSON for the command line, and exits like {@link printCheck}. */
export async function printFindings<Schema extends z.ZodObject>(
  schema: Schema,
  env: Record<string, string | undefined>,
  { required, thorough = () => [] }: Checks<z.output<Schema>>,
): Promise<void> {
  const findings = await examine(schema, env, (config) => [
    ...required(config),
    ...thorough(config),
  ]);
  console.log(JSON.stringify(findings));
  process.exit(0);
}

/** The exit code: 1 when a check failed, 0 with only warnings. */
export const exitCodeOf = (findings: readonly Finding[]): number =>
  findings.some(({ status }) => status === "failed") ? 1 : 0;

/** A line with status, check and detail, and a line with the remedy. */
export const formatFinding = ({ check, status, detail, mend }: Finding): string =>
  [
    [status, check, ...(detail === undefined ? [] : [detail])].join("\t"),
    ...(mend === undefined ? [] : [`\t${mend}`]),
  ].join("\n");

/** Offset beyond which counts of the last minutes and expiries are visibly wrong. */
const WARNING_SECONDS = 1;

/** Offset beyond which certificates, sessions and time buckets are wrong. */
const FAILURE_SECONDS = 60;

/**
 * `read` returns the store's time in Unix milliseconds; undefined when the store does not report
 * it.
 */
export const checkClock = (store: string, read: () => Promise<number | undefined>): Check => ({
  name: `clock of ${store}`,
  mend: "Mend the connection first.",
  async run() {
    const sent = Date.now();
    const theirs = await read();
    if (theirs === undefined) return undefined;
    const received = Date.now();
    // The store read its clock at some moment in between.
    const tolerance = (received - sent) / 2_000;
    const seconds = (theirs - (sent + received) / 2) / 1_000;
    const offset = Math.abs(seconds) - tolerance;
    if (offset <= WARNING_SECONDS) return undefined;
    return {
      status: offset > FAILURE_SECONDS ? "failed" : "warning",
      detail: `it is ${Math.abs(seconds).toFixed(1)} s ${seconds > 0 ? "ahead of" : "behind"} this machine's`,
      mend: "Synchronise both machines' clocks (timedatectl, systemd-timesyncd or chrony).",
    };
  },
});

const TIMEOUT_MS = 2_000;

const health = z.object({
  parts: z.record(z.string(), z.string()),
  warnings: z.record(z.string(), z.string()).default({}),
});

type Health = z.output<typeof health>;

/** The remedy for a part that is not ready, or that has a warning. */
const REMEDIES: Record<PartName, string> = {
  process: "It is stopping: journalctl says what it waits for.",
  readiness: "A store accepts connections and does not respond: see its log.",
  postgres:
    "Start PostgreSQL; run shorthop migrate if it lacks a migration; make room if its disk is full (docs/runbook.md#shorthopwarning).",
  links_feed:
    "Start NATS and the API if they are away: a host that lacks links takes a snapshot by itself (docs/runbook.md#shorthopfeedincomplete).",
  links_log:
    "Compare LINKS_PUBLIC_KEYS with the keys of the API; if they are right, change the passwords of NATS (docs/runbook.md#shorthopfeedrecordskipped).",
  links_snapshots:
    "See the API's log for links_snapshot_failed (docs/runbook.md#shorthoplinkssnapshotold).",
  outbox:
    "Start NATS if it is away; if its disk is full, make room and restart it (docs/runbook.md#shorthopoutboxold).",
  replicas: "Run nats stream edit STREAM --replicas 3 as the operator.",
  streams:
    "At once: nats stream rm with the stream's name, and restart nats-server (docs/runbook.md#shorthopstreamdamaged).",
  clickhouse:
    "Make room on the host of ClickHouse (df -h), or enlarge its disk; if it is not full, see its log (docs/runbook.md#shorthopwarning).",
  links_store:
    "Make LINKS_DIR a directory with room that the process may write to, and restart the redirectors of this host.",
  disk: "Make room (df -h), or move the folder to a larger disk.",
  clicks:
    "Start NATS if it is away; if its disk is full, make room and restart it. Make room in its stream CLICKS, and see that a worker runs (docs/runbook.md#shorthopjournalfilling).",
  counters: "Start PostgreSQL and ClickHouse (docs/runbook.md#shorthopcountersnotwritten).",
  geoip: "Run shorthop geoip update.",
  webhooks: "Look at the worker's log and at PostgreSQL (docs/runbook.md#shorthopwebhookslate).",
  provider:
    "Start the provider of OIDC_ISSUER, or let this host reach it; meanwhile the owner of OIDC_BREAK_GLASS signs in (docs/sign-in.md#with-a-provider).",
  click_limits:
    "Start NATS if it is away, and give its users the rights of nats/users.conf (docs/runbook.md#shorthopwarning).",
};

/**
 * Reports a problem for each part that is not ready and for each warning, of all processes of this
 * kind on this host.
 */
export const checkRunning = (
  name: string,
  host: string,
  configured: number | undefined,
  defaults?: MetricsPorts,
): Check => ({
  name: "running processes",
  mend: `See systemctl status 'shorthop-${name}*'.`,
  async run() {
    const found = await Promise.all(
      possiblePorts(configured, defaults).map(async (port) => ({
        port,
        health: await readHealthAt(host, port),
      })),
    );
    const problems = found.flatMap(({ port, health }) => toProblems(port, health));
    if (found.some(({ health }) => health !== undefined)) return problems;
    return {
      status: "warning",
      detail: "none responds on its metrics port",
      mend: `Start it (systemctl status 'shorthop-${name}*', journalctl -u 'shorthop-${name}*').`,
    };
  },
});

function possiblePorts(configured: number | undefined, defaults?: MetricsPorts): number[] {
  if (configured !== undefined) return [configured];
  if (defaults === undefined) return [];
  const { single, instances } = defaults;
  return [single, ...Array.from({ length: INSTANCES_MAX }, (_, i) => instances + i + 1)];
}

/**
 * The health of the process at this port; undefined when there is no process, or another program.
 */
export async function readHealthAt(host: string, port: number): Promise<Health | undefined> {
  // The address of all interfaces is not one to connect to.
  const address = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  const url = new URL(`http://${address.includes(":") ? `[${address}]` : address}:${port}/readyz`);
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return health.safeParse(await response.json()).data;
  } catch {
    return undefined;
  }
}

function toProblems(port: number, said: Health | undefined): Problem[] {
  if (said === undefined) return [];
  const unready = Object.entries(said.parts).filter(([, state]) => state !== "ok");
  const toProblem =
    (status: Problem["status"]) =>
    ([part, text]: [string, string]): Problem => ({
      status,
      detail: `port ${port}, ${part}: ${text}`,
      mend: isPartName(part) ? REMEDIES[part] : "See docs/runbook.md#shorthopnotready.",
    });
  return [
    ...unready.map(toProblem("failed")),
    ...Object.entries(said.warnings).map(toProblem("warning")),
  ];
}

/** The parts of a process that are not ready; undefined if all are. */
export function describeUnready({ parts }: Health): string | undefined {
  const unready = Object.entries(parts).filter(([, state]) => state !== "ok");
  if (unready.length === 0) return undefined;
  return unready.map(([part, state]) => `${part}: ${state}`).join(", ");
}

const isPartName = (name: string): name is PartName => name in REMEDIES;
