/**
 * A whole stack for one test: real services, free ports, a data directory that is removed with it.
 */
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";

import * as z from "zod";

import { findNatsServer } from "../../deploy/local/nats.ts";
import {
  findPrograms,
  prepareInstallation,
  removeInstallation,
} from "../../deploy/local/postgres.ts";
import { hashFiles } from "../../shared/process-lock.ts";
import type { Dns } from "./dns.ts";
import { eventually } from "./eventually.ts";
import { findExecutable } from "./executable.ts";
import { copyFiles, createTemporaryDir, makeTemplate } from "./templates.ts";

export const PROJECT_DIR = join(import.meta.dir, "../..");

const START_TIMEOUT_MS = 60_000;

const stackInfo = z.object({
  api_url: z.string(),
  short_url: z.string(),
  api_key: z.string(),
  dashboard_url: z.string(),
  dashboard_email: z.string(),
  dashboard_password: z.string(),
  api_metrics_url: z.string(),
  redirector_metrics_url: z.string(),
  worker_metrics_url: z.string(),
  database_url: z.string(),
  nats_url: z.string(),
  clickhouse_url: z.string(),
  /** A stack of an earlier program has none. */
  links_signing_key: z.string().optional(),
  pids: z.object({
    api: z.int().nullable(),
    worker: z.int().nullable(),
    redirector: z.int().nullable(),
    postgres: z.int().nullable(),
    nats: z.int().nullable(),
    clickhouse: z.int().nullable(),
  }),
});

export type StackInfo = z.output<typeof stackInfo>;

/** What tests may use of a stack that others use too. */
export type SharedStack = {
  /** The current contents of `stack.json`: process ids change when a process is restarted. */
  info(): StackInfo;
  /** The folder of the project that runs. */
  root: string;
  dataDir: string;
  [Symbol.asyncDispose](): Promise<void>;
};

export type Stack = SharedStack & {
  supervisor: Bun.Subprocess;
  output(): string;
  /** Stops the stack by a signal and returns its exit code; the data directory stays. */
  stop(signal?: NodeJS.Signals): Promise<number>;
};

type StackOptions = {
  env?: Record<string, string>;
  dataDir?: string;
  /**
   * Starts from the sources, without any data, as on a new machine, and with a PostgreSQL that
   * waits for its disk, as benchmarks need it. Else the executable runs, and a data directory that
   * does not exist yet has all schemas and the demo account.
   */
  empty?: boolean;
  args?: string[];
  /** The project folder to run, if it is a copy. */
  root?: string;
};

const FREE_PORTS = {
  API_PORT: "0",
  DASHBOARD_PORT: "0",
  REDIRECTOR_PORT: "0",
  API_METRICS_PORT: "0",
  REDIRECTOR_METRICS_PORT: "0",
  WORKER_METRICS_PORT: "0",
  POSTGRES_PORT: "0",
  NATS_PORT: "0",
  CLICKHOUSE_PORT: "0",
};

/** Creates a data directory; `removeDataDir` removes it and its PostgreSQL fallback folder. */
export function createDataDir({ reachable = true } = {}): string {
  const dir = createTemporaryDir("shorthop-test-");
  // As root, PostgreSQL runs as another user; if that user cannot traverse the folder, it is set up
  // elsewhere.
  if (reachable) chmodSync(dir, 0o755);
  return join(dir, "data");
}

export function removeDataDir(dataDir: string): void {
  removeInstallation(join(dataDir, "postgres"));
  rmSync(dirname(dataDir), { recursive: true, force: true });
}

/** Starts only the supervisor, without waiting until the stack is ready. */
export async function spawnSupervisor({
  env = {},
  dataDir = createDataDir(),
  args = [],
  root = PROJECT_DIR,
}: StackOptions = {}) {
  const inherited = Object.entries(process.env).filter(([name]) => !name.endsWith("_URL"));
  const bin = dirname(await findNatsServer(join(PROJECT_DIR, ".local", "bin"), console.log));
  const supervisor = Bun.spawn([process.execPath, join(root, "deploy/local/main.ts"), ...args], {
    env: {
      ...Object.fromEntries(inherited),
      ...FREE_PORTS,
      PATH: `${bin}${delimiter}${process.env["PATH"]}`,
      SHORTHOP_DATA_DIR: dataDir,
      ...env,
    },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  let text = "";
  for (const stream of [supervisor.stdout, supervisor.stderr])
    void collect(stream, (part) => (text += part));
  return { supervisor, dataDir, output: () => text };
}

/** Starts a stack and waits until it is ready; throws its output if it fails to start. */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const dataDir = options.dataDir ?? createDataDir();
  const { empty = false, root = PROJECT_DIR } = options;
  const isPrepared = !empty && root === PROJECT_DIR;
  if (isPrepared && !existsSync(dataDir)) {
    await copyTemplate(dataDir);
    // What NATS has is of the template's database, and hosts refuse another one.
    if (options.env?.["DATABASE_URL"] !== undefined)
      rmSync(join(dataDir, "nats"), { recursive: true });
  }
  const env = {
    ...(isPrepared ? { SHORTHOP_EXECUTABLE: await findExecutable() } : {}),
    ...options.env,
  };
  const path = join(dataDir, "stack.json");
  // A file left by a killed supervisor would look like readiness.
  rmSync(path, { force: true });
  const { supervisor, output } = await spawnSupervisor({ ...options, env, dataDir });
  await eventually(async () => {
    if (supervisor.exitCode === null && !existsSync(path))
      throw new Error(`Not ready:\n${output()}`);
  }, START_TIMEOUT_MS);
  if (supervisor.exitCode !== null) throw new Error(`The stack ended:\n${output()}`);

  async function stop(signal: NodeJS.Signals = "SIGTERM"): Promise<number> {
    if (supervisor.exitCode === null) supervisor.kill(signal);
    return await supervisor.exited;
  }

  return {
    ...attachStack(dataDir, root),
    supervisor,
    output,
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
      if (options.dataDir === undefined) removeDataDir(dataDir);
    },
  };
}

/** A running stack, of a project folder; disposing does not stop it. */
export const attachStack = (dataDir: string, root = PROJECT_DIR): SharedStack => ({
  info: () => stackInfo.parse(JSON.parse(readFileSync(join(dataDir, "stack.json"), "utf8"))),
  root,
  dataDir,
  [Symbol.asyncDispose]: () => Promise.resolve(),
});

/**
 * Finds every process on this machine whose command line or environment contains the directory
 * (Linux).
 */
export function findProcesses(dataDir: string): { pid: number; command: string }[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const pid = Number(name);
      if (pid === process.pid) return [];
      const command = readProc(pid, "cmdline");
      // A zombie has ended; its files are empty.
      return `${command}${readProc(pid, "environ")}`.includes(dataDir) ? [{ pid, command }] : [];
    });
}

function readProc(pid: number, file: "cmdline" | "environ"): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

async function collect(
  stream: ReadableStream<Uint8Array>,
  onText: (part: string) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  for await (const chunk of stream) onText(decoder.decode(chunk, { stream: true }));
}

/**
 * A stack for tests that leave it undisturbed: they neither end nor reconfigure its processes, and
 * what they create is in accounts, hosts and aliases of their own. It is the runner's, which starts
 * one for many files, or a new one; with `dns`, its API asks this server.
 */
export async function useStack({ dns }: { dns?: Dns } = {}): Promise<SharedStack> {
  const dataDir = process.env["SHORTHOP_TEST_STACK"];
  if (dataDir !== undefined) return attachStack(dataDir);
  return await startStack(dns === undefined ? {} : { env: { DNS_SERVERS: dns.address } });
}

/** What writes into a data directory. */
const SOURCES = [
  "{api,worker,redirector,shared}/**/*.{ts,sql}",
  "deploy/local/**/*.ts",
  "deploy/postgres/*.sql",
  "package-lock.json",
];

/**
 * Parts of a data directory that are copied: neither programs nor what describes a running stack.
 */
const PARTS = ["secrets.json", "nats", "clickhouse", "journal"];

/** Tests kill processes, not machines, and what a process has written survives that. */
const POSTGRES_SETTINGS = "fsync = off\nfull_page_writes = off\n";

let foundTemplate: string | undefined;

/** The folder of the template for the state of the sources, which a process reads once. */
const findTemplate = (): string =>
  (foundTemplate ??= join(PROJECT_DIR, ".local/test-stack", hashFiles(PROJECT_DIR, SOURCES)));

/**
 * Makes a data directory with all schemas and the demo account, of which a stack that starts has
 * none to make: the copy of a template that is made once per state of the sources.
 */
async function copyTemplate(dataDir: string): Promise<void> {
  const template = findTemplate();
  await makeTemplate(template, async (unfinished) => {
    await using stack = await startStack({ empty: true });
    await stack.stop();
    mkdirSync(unfinished);
    copyParts(stack.dataDir, unfinished);
    const postgres = join(unfinished, "postgres");
    copyFiles(realpathSync(join(stack.dataDir, "postgres", "data")), postgres);
    appendFileSync(join(postgres, "postgresql.conf"), POSTGRES_SETTINGS);
  });
  mkdirSync(dataDir, { recursive: true });
  copyParts(template, dataDir);
  // Where PostgreSQL's user cannot reach the data directory, it has its own elsewhere.
  const { home } = prepareInstallation(
    await findPrograms(),
    join(dataDir, "postgres"),
    () => undefined,
  );
  copyFiles(join(template, "postgres"), join(home, "data"));
}

function copyParts(from: string, to: string): void {
  for (const part of PARTS)
    if (existsSync(join(from, part))) copyFiles(join(from, part), join(to, part));
}
