/** Additional processes of the product beside those of a stack. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import { endWithParent } from "../../deploy/local/supervisor.ts";
import { publicKeyOf } from "../../shared/links-log/signature.ts";
import { commandOf } from "./executable.ts";
import { SIGNING_KEY } from "./links-log.ts";

export type ExtraProcess = AsyncDisposable & {
  url: string;
  metricsUrl: string;
  pid: number;
  stop(): Promise<void>;
  output(): string;
};

/** The services that a process works on: a stack's, or others. */
export type Services = {
  /** The folder of the project that runs, if it is not this one. */
  root?: string;
  dataDir: string;
  info(): {
    nats_url: string;
    short_url: string;
    database_url: string;
    clickhouse_url: string;
    links_signing_key?: string | undefined;
  };
};

const signingKeyOf = (services: Services): string =>
  services.info().links_signing_key ?? SIGNING_KEY;

/** Starts an additional API process on the stack's databases; `env` overrides its settings. */
export async function startApi(
  stack: Services,
  env: Record<string, string> = {},
): Promise<ExtraProcess> {
  const { database_url, clickhouse_url } = stack.info();
  return await start("api", stack, {
    API_HOST: "127.0.0.1",
    API_PORT: "0",
    API_METRICS_PORT: "0",
    LINKS_SIGNING_KEY: signingKeyOf(stack),
    DATABASE_URL: database_url,
    CLICKHOUSE_URL: clickhouse_url,
    ...env,
  });
}

/**
 * Starts an additional redirector on the stack's NATS, with its own journal; `within` is a command
 * prefix that runs it elsewhere.
 */
export async function startRedirector(
  stack: Services,
  env: Record<string, string> = {},
  within: string[] = [],
): Promise<ExtraProcess> {
  const journal = mkdtempSync(join(stack.dataDir, "journal-"));
  const settings = {
    REDIRECTOR_HOST: "127.0.0.1",
    REDIRECTOR_PORT: "0",
    REDIRECTOR_METRICS_PORT: "0",
    SHORT_HOSTS: "localhost,127.0.0.1",
    LINKS_PUBLIC_KEYS: publicKeyOf(signingKeyOf(stack)),
    JOURNAL_DIR: journal,
    FAILURES_INTERVAL_SECONDS: "5",
    ...env,
  };
  const child = await start("redirector", stack, settings, within);
  // On a host that has no links yet, it reads them first; another NATS may be away.
  if (env["NATS_URL"] === undefined && within.length === 0) await waitUntilReady(child);
  const stop = async (): Promise<void> => {
    await child.stop();
    rmSync(journal, { recursive: true, force: true });
  };
  return { ...child, stop, [Symbol.asyncDispose]: stop };
}

/** How long a redirector may read links before tests go on nevertheless. */
const READY_MS = 20_000;

const POLL_MS = 20;

async function waitUntilReady({ metricsUrl }: ExtraProcess): Promise<void> {
  const isReady = async (): Promise<boolean> => (await fetch(`${metricsUrl}/readyz`)).ok;
  const deadline = Date.now() + READY_MS;
  while (Date.now() < deadline && !(await isReady().catch(() => false))) await Bun.sleep(POLL_MS);
}

/** Starts an additional worker on the stack's services; `env` overrides its settings. */
export async function startWorker(
  stack: Services,
  env: Record<string, string> = {},
): Promise<ExtraProcess> {
  const { clickhouse_url, database_url } = stack.info();
  return await start("worker", stack, {
    WORKER_METRICS_PORT: "0",
    DATABASE_URL: database_url,
    CLICKHOUSE_URL: clickhouse_url,
    VISITOR_HASH_SECRET: "secret of this test",
    ...env,
  });
}

async function start(
  name: "api" | "redirector" | "worker",
  stack: Services,
  env: Record<string, string>,
  within: string[] = [],
): Promise<ExtraProcess> {
  const { nats_url, short_url } = stack.info();
  const command = await commandOf([name], stack.root);
  // What the process says does not depend on how soon this one reads it.
  const outputPath = join(mkdtempSync(join(stack.dataDir, "output-")), "stdout");
  const child = Bun.spawn(endWithParent([...within, ...command]), {
    env: {
      ...process.env,
      NATS_URL: nats_url,
      SHORT_URL: short_url,
      TRUSTED_PROXIES: "127.0.0.1",
      ...env,
    },
    stdin: "ignore",
    stdout: Bun.file(outputPath),
    stderr: "inherit",
  });
  const output = (): string => readFileSync(outputPath, "utf8");
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await child.exited;
  };
  const addresses = await addressesOf(name, child, output);
  return { ...addresses, pid: child.pid, output, stop, [Symbol.asyncDispose]: stop };
}

/** Waits until a process says where it listens; throws what it said when it ends before. */
async function addressesOf(
  name: string,
  child: Bun.Subprocess,
  output: () => string,
): Promise<{ url: string; metricsUrl: string }> {
  for (;;) {
    const hasEnded = child.exitCode !== null || child.signalCode !== null;
    const found = /(?:"url":"([^"]+)",)?"internal_url":"([^"]+)"/.exec(output());
    // A worker has only an internal address.
    if (found?.[2] !== undefined) return { url: found[1] ?? "", metricsUrl: found[2] };
    if (hasEnded) throw new Error(`The ${name} did not start:\n${output()}`);
    await Bun.sleep(POLL_MS);
  }
}
