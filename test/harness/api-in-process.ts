/**
 * The API in this process, with everything that its own starts, on a database, a NATS and, where a
 * test asks for it, a ClickHouse of its own: what the API does by itself costs a fraction of a
 * stack's time here. There is no redirector and no worker.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";

import { configSchema } from "../../api/config.ts";
import { ApiContext } from "../../api/context.ts";
import { type Listening, runApi } from "../../api/process.ts";
import { findFreePort } from "../../deploy/local/ports.ts";
import { loadSecrets } from "../../deploy/local/secrets.ts";
import { appServices, type StackUrls } from "../../deploy/local/stack.ts";
import { loadConfig } from "../../shared/env.ts";
import type { Lifecycle } from "../../shared/lifecycle.ts";
import { processLog } from "../../shared/log.ts";
import { createAccount } from "./admin.ts";
import { type ApiResponse, call, type CallOptions } from "./api.ts";
import { TestClickHouse } from "./clickhouse.ts";
import { startNats } from "./nats.ts";
import { startPostgres, type TestPostgres } from "./postgres.ts";
import { createDataDir, PROJECT_DIR, type SharedStack, type StackInfo } from "./stack.ts";

/** Where nothing listens. */
const NOWHERE = "http://127.0.0.1:9";

const METRICS = { api: 0, redirector: 0, worker: 0 };

type Options = {
  /** Settings in place of those of a local stack. */
  env?: Record<string, string>;
  clickhouse?: boolean;
  /** Whether its PostgreSQL is a server of its own, which can be paused. */
  ownServer?: boolean;
};

/** What a process stops, as the product does it, but this one goes on. */
class Parts implements Lifecycle {
  readonly #closers: (() => unknown)[] = [];
  #isStopping = false;

  onStop(_name: string, close: () => unknown): void {
    this.#closers.push(close);
  }

  readonly stopping = (): boolean => this.#isStopping;

  async stop(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    for (const close of this.#closers.toReversed()) await close();
  }
}

/** One API process within this one: its addresses, and what it has logged. */
export class ApiProcess {
  readonly url: string;
  readonly metricsUrl: string;
  readonly #parts: Parts;
  readonly #lines: string[];

  private constructor({ url, internal_url }: Listening, parts: Parts, lines: string[]) {
    this.url = (url ?? "").replace(/\/$/, "");
    this.metricsUrl = internal_url;
    this.#parts = parts;
    this.#lines = lines;
  }

  static async start(env: Record<string, string>): Promise<ApiProcess> {
    const parts = new Parts();
    const lines: string[] = [];
    const log = processLog("api", "info", { write: (line) => void lines.push(line) });
    const context = await ApiContext.open(loadConfig(configSchema, env), parts, log);
    return new ApiProcess(runApi(context), parts, lines);
  }

  output(): string {
    return this.#lines.join("");
  }

  stop(): Promise<void> {
    return this.#parts.stop();
  }
}

/** The API with its stores; tests use it as a stack of which they need no more. */
export class ApiInProcess implements SharedStack {
  readonly root = PROJECT_DIR;
  readonly dataDir: string;
  readonly database: TestPostgres;
  readonly #resources: AsyncDisposableStack;
  readonly #env: Record<string, string>;
  readonly #info: StackInfo;
  readonly #first: ApiProcess;

  private constructor(
    resources: AsyncDisposableStack,
    info: StackInfo,
    { database, dataDir }: { database: TestPostgres; dataDir: string },
    { env, first }: { env: Record<string, string>; first: ApiProcess },
  ) {
    this.#resources = resources;
    this.#info = info;
    this.#env = env;
    this.#first = first;
    this.dataDir = dataDir;
    this.database = database;
  }

  static async start({ env = {}, clickhouse, ownServer }: Options = {}): Promise<ApiInProcess> {
    const resources = new AsyncDisposableStack();
    const dataDir = createDataDir();
    mkdirSync(dataDir, { recursive: true });
    resources.defer(() => rmSync(dirname(dataDir), { recursive: true, force: true }));
    const [database, nats] = await Promise.all([startPostgres({ ownServer }), startNats()]);
    resources.use(database);
    resources.use(nats);
    const store =
      clickhouse === true ? resources.use(await TestClickHouse.start(database.url)) : undefined;
    const urls = {
      api: `http://127.0.0.1:${findFreePort()}`,
      dashboard: `http://localhost:${findFreePort()}`,
      short: "http://sho.rt",
      database: database.url,
      apiDatabase: database.url,
      workerDatabase: database.url,
      nats: nats.url,
      clickhouse: store?.url ?? NOWHERE,
    };
    const settings = { ...settingsOf(urls, dataDir), ...env };
    const first = await ApiProcess.start(settings);
    resources.defer(() => first.stop());
    const info = describe(urls, first);
    const api = new ApiInProcess(resources, info, { database, dataDir }, { env: settings, first });
    info.api_key = (await createAccount(api, "business")).key;
    // The command line finds the stores there.
    writeFileSync(join(dataDir, "stack.json"), JSON.stringify(info));
    return api;
  }

  info(): StackInfo {
    return this.#info;
  }

  /** Starts another API process on the same stores, which this one's end stops. */
  async startApi(env: Record<string, string> = {}): Promise<ApiProcess> {
    const ports = { API_PORT: "0", DASHBOARD_URL: "", ...env };
    const started = await ApiProcess.start({ ...this.#env, ...ports });
    this.#resources.defer(() => started.stop());
    return started;
  }

  send(path: string, options: CallOptions = {}): Promise<ApiResponse> {
    return call(`${this.#info.api_url}${path}`, options);
  }

  output(): string {
    return this.#first.output();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#resources.disposeAsync();
  }
}

/** The settings of an API process of a local stack, whose dashboard is a page and no more. */
function settingsOf(urls: StackUrls, dataDir: string): Record<string, string> {
  const dashboardDir = join(dataDir, "dashboard");
  mkdirSync(dashboardDir);
  const page = Buffer.from("<!doctype html><title>Dashboard</title>");
  writeFileSync(join(dashboardDir, "index.html"), page);
  writeFileSync(join(dashboardDir, "index.html.br"), brotliCompressSync(page));
  writeFileSync(join(dashboardDir, "index.html.gz"), gzipSync(page));
  const services = appServices({
    urls,
    metrics: METRICS,
    dataDir,
    logLevel: "info",
    secrets: loadSecrets(join(dataDir, "secrets.json")),
    dashboardDir,
    executable: undefined,
  });
  return services.find(({ name }) => name === "api")?.env ?? {};
}

const describe = (urls: StackUrls, { metricsUrl }: ApiProcess): StackInfo => ({
  api_url: urls.api,
  short_url: urls.short,
  api_key: "",
  dashboard_url: urls.dashboard,
  dashboard_email: "",
  dashboard_password: "",
  api_metrics_url: metricsUrl,
  redirector_metrics_url: NOWHERE,
  worker_metrics_url: NOWHERE,
  database_url: urls.database,
  nats_url: urls.nats,
  clickhouse_url: urls.clickhouse,
  pids: { api: null, worker: null, redirector: null, postgres: null, nats: null, clickhouse: null },
});
