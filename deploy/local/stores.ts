/**
 * PostgreSQL, NATS and ClickHouse: started here, unless the environment names servers that run
 * elsewhere.
 */
import { join } from "node:path";

import type { StackConfig } from "./config.ts";
import type { Logger } from "./logger.ts";
import { acceptsClients, findNatsServer, natsService, natsUrl } from "./nats.ts";
import { choosePorts, type ChosenPort } from "./ports.ts";
import {
  databaseUrl,
  findPrograms,
  initialise,
  postgresService,
  prepareInstallation,
  type ProcessRole,
  urlOfRole,
} from "./postgres.ts";
import type { Secrets } from "./secrets.ts";
import { clickhouseService, clickhouseUrl, type LocalStack, type StackUrls } from "./stack.ts";
import { respondsOk } from "./supervisor.ts";

export type Ports = Record<keyof typeof PORT_USES, ChosenPort>;

const PORT_USES = {
  API_PORT: "the API",
  DASHBOARD_PORT: "the dashboard",
  REDIRECTOR_PORT: "short links",
  API_METRICS_PORT: "the API's metrics",
  REDIRECTOR_METRICS_PORT: "the redirector's metrics",
  WORKER_METRICS_PORT: "the worker's metrics",
  POSTGRES_PORT: "PostgreSQL",
  NATS_PORT: "NATS",
  CLICKHOUSE_PORT: "ClickHouse",
} as const;

/** Chooses the ports, and reports which preferred ones are in use. */
export function choosePortsFor(config: StackConfig, logger: Logger): Ports {
  const ports = choosePorts<keyof typeof PORT_USES>({
    API_PORT: config.API_PORT,
    DASHBOARD_PORT: config.DASHBOARD_PORT,
    REDIRECTOR_PORT: config.REDIRECTOR_PORT,
    API_METRICS_PORT: config.API_METRICS_PORT,
    REDIRECTOR_METRICS_PORT: config.REDIRECTOR_METRICS_PORT,
    WORKER_METRICS_PORT: config.WORKER_METRICS_PORT,
    // A service that runs elsewhere needs no port here, so no report about a used one.
    POSTGRES_PORT: config.DATABASE_URL === undefined ? config.POSTGRES_PORT : 0,
    NATS_PORT: config.NATS_URL === undefined ? config.NATS_PORT : 0,
    CLICKHOUSE_PORT: config.CLICKHOUSE_URL === undefined ? config.CLICKHOUSE_PORT : 0,
  });
  for (const [name, use] of Object.entries(PORT_USES) as [keyof Ports, string][]) {
    const { port, taken } = ports[name];
    if (taken)
      logger.log(
        `Port ${config[name]} for ${use} is in use; using ${port} instead (set ${name} to choose one).`,
      );
  }
  return ports;
}

/** The three stores, which start at the same time, and the URLs of the stack. */
export class Stores {
  readonly urls: StackUrls;
  /** When each of them responds. */
  readonly postgres: Promise<void>;
  readonly nats: Promise<void>;
  readonly clickhouse: Promise<void>;
  readonly #stack: LocalStack;
  readonly #ports: Ports;

  /** Starts the stores, or checks those that run elsewhere. */
  constructor(stack: LocalStack, ports: Ports) {
    this.#stack = stack;
    this.#ports = ports;
    const { config, secrets } = stack;
    const { DATABASE_URL, NATS_URL, CLICKHOUSE_URL } = config;
    this.urls = toUrls(config, secrets, ports);
    // The API's migration says whether a PostgreSQL elsewhere responds.
    this.postgres = DATABASE_URL === undefined ? this.#startPostgres() : Promise.resolve();
    this.nats =
      NATS_URL === undefined
        ? this.#startNats()
        : requireReachable("NATS_URL", NATS_URL, acceptsClients);
    this.clickhouse =
      CLICKHOUSE_URL === undefined
        ? this.#startClickHouse()
        : requireReachable("CLICKHOUSE_URL", CLICKHOUSE_URL, (url) =>
            respondsOk(new URL("/ping", url).href),
          );
  }

  async #startPostgres(): Promise<void> {
    const { config, secrets, logger, supervisor } = this.#stack;
    const home = join(config.SHORTHOP_DATA_DIR, "postgres");
    const log = (line: string): void => logger.log(line);
    const installation = prepareInstallation(await findPrograms(), home, log);
    await initialise(installation, secrets.postgresPassword);
    const { port } = this.#ports.POSTGRES_PORT;
    await supervisor.start(postgresService(installation, port, secrets.postgresPassword));
  }

  async #startNats(): Promise<void> {
    const { config, secrets, logger, supervisor } = this.#stack;
    const dataDir = config.SHORTHOP_DATA_DIR;
    const program = await findNatsServer(join(dataDir, "bin"), (line) => logger.log(line));
    const { port } = this.#ports.NATS_PORT;
    await supervisor.start(natsService(program, join(dataDir, "nats"), port, secrets.natsPassword));
  }

  async #startClickHouse(): Promise<void> {
    const { config, secrets, supervisor } = this.#stack;
    const { port } = this.#ports.CLICKHOUSE_PORT;
    const { clickhousePassword } = secrets;
    await supervisor.start(clickhouseService(config.SHORTHOP_DATA_DIR, port, clickhousePassword));
  }
}

function toUrls(config: StackConfig, secrets: Secrets, ports: Ports): StackUrls {
  const { DATABASE_URL, NATS_URL, CLICKHOUSE_URL } = config;
  const database = DATABASE_URL ?? databaseUrl(ports.POSTGRES_PORT.port, secrets.postgresPassword);
  /** What runs elsewhere has the roles that its operator made. */
  const as = (role: ProcessRole, password: string): string =>
    DATABASE_URL ?? urlOfRole(database, role, password);
  return {
    api: `http://localhost:${ports.API_PORT.port}`,
    dashboard: `http://localhost:${ports.DASHBOARD_PORT.port}`,
    short: `http://localhost:${ports.REDIRECTOR_PORT.port}`,
    database,
    apiDatabase: as("shorthop_api", secrets.apiPostgresPassword),
    workerDatabase: as("shorthop_worker", secrets.workerPostgresPassword),
    nats: NATS_URL ?? natsUrl(ports.NATS_PORT.port, secrets.natsPassword),
    clickhouse:
      CLICKHOUSE_URL ?? clickhouseUrl(ports.CLICKHOUSE_PORT.port, secrets.clickhousePassword),
  };
}

/** A server may give up a connection while this machine is busy with the start. */
const REACH_ATTEMPTS_MAX = 3;

async function requireReachable(
  variable: string,
  url: string,
  isReachable: (url: string) => Promise<boolean>,
): Promise<void> {
  for (let attempt = 1; attempt <= REACH_ATTEMPTS_MAX; attempt++)
    if (await isReachable(url).catch(() => false)) return;
  // Only hosts: the rest of a URL may contain a password.
  const hosts = url.split(",").map((one) => (URL.canParse(one) ? new URL(one).host : "…"));
  throw new Error(`${variable} is set, but no server responds at ${hosts.join(", ")}.`);
}
