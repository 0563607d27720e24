/** The host of the benchmark: its redirector, what its store holds, and the programs beside it. */
import { Database } from "bun:sqlite";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

import { presentFolder, storePath } from "../../redirector/links/store-files.ts";
import { type LogState, readLogState, STORE_NAME } from "../../shared/links-store/schema.ts";
import { round } from "../../test/harness/report.ts";
import { redirectorEnv } from "../redirect/links.ts";

export const CACHE_BYTES = 64 * 1024 ** 2;

export const PORT = 18_430;
const METRICS_PORT = 18_431;
const START_TIMEOUT_MS = 1_800_000;
const POLL_MS = 20;

/** Starts a redirector; resolves when it is ready. */
export async function startRedirector(
  natsUrl: string,
  journal: string,
  env: Record<string, string> = {},
) {
  const child = Bun.spawn([process.execPath, "redirector/main.ts"], {
    env: {
      ...process.env,
      ...redirectorEnv(natsUrl, PORT, journal),
      REDIRECTOR_METRICS_PORT: String(METRICS_PORT),
      CACHE_BYTES_MAX: String(CACHE_BYTES),
      ...env,
    },
    stdout: "ignore",
    stderr: "inherit",
  });
  await waitUntil(async () => {
    const url = `http://127.0.0.1:${METRICS_PORT}/readyz`;
    return await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
  });
  return {
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.exited;
    },
  };
}

/** Runs a program of the benchmarks; returns what it printed. */
export async function run(
  args: readonly (string | number)[],
  env: Record<string, string> = {},
): Promise<string> {
  const child = Bun.spawn([process.execPath, ...args.map(String)], {
    env: { ...process.env, ...env },
    stdout: "pipe",
    stderr: "inherit",
  });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`${args[0]} failed.`);
  return text;
}

/** The folder of the links store beside a journal. */
export const storeFolder = (journal: string): string => presentFolder(join(journal, "links"));

/** What the links store beside a journal has of the links log. */
export function stateOf(journal: string): LogState {
  const db = new Database(storePath(storeFolder(journal)), { readonly: true });
  try {
    return readLogState(db);
  } finally {
    db.close();
  }
}

export function diskBytes(journal: string): number {
  const links = storeFolder(journal);
  return readdirSync(links)
    .filter((name) => name.startsWith(STORE_NAME))
    .reduce((sum, name) => sum + statSync(join(links, name)).size, 0);
}

export function secondsSince(startedAt: number): number {
  return round((performance.now() - startedAt) / 1_000);
}

export async function waitUntil(isSo: () => Promise<boolean>, pauseMs = POLL_MS): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error("It takes too long.");
    await Bun.sleep(pauseMs);
  }
}
