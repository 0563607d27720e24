/** The parts the product stands on: started here, or found where the environment says they run. */
import { join } from "node:path";

import type { StackConfig } from "./config.ts";
import { findNatsServer, natsService, natsUrl, takesClients } from "./nats.ts";
import type { Output } from "./output.ts";
import { choosePorts, type ChosenPort } from "./ports.ts";
import { preparePlace } from "./postgres-place.ts";
import { databaseUrl, findPrograms, initialise, postgresService } from "./postgres.ts";
import type { Secrets } from "./secrets.ts";
import { clickhouseService, type StackUrls } from "./stack.ts";
import { answersOk, type Supervisor } from "./supervisor.ts";

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

/** Chooses the ports, and says which of those wished for are taken. */
export async function choosePortsFor(config: StackConfig, output: Output): Promise<Ports> {
  const ports = await choosePorts<keyof typeof PORT_USES>({
    API_PORT: config.API_PORT,
    DASHBOARD_PORT: config.DASHBOARD_PORT,
    REDIRECTOR_PORT: config.REDIRECTOR_PORT,
    API_METRICS_PORT: config.API_METRICS_PORT,
    REDIRECTOR_METRICS_PORT: config.REDIRECTOR_METRICS_PORT,
    WORKER_METRICS_PORT: config.WORKER_METRICS_PORT,
    // A part that runs elsewhere needs no port here, and must not complain about a taken one.
    POSTGRES_PORT: config.DATABASE_URL === undefined ? config.POSTGRES_PORT : 0,
    NATS_PORT: config.NATS_URL === undefined ? config.NATS_PORT : 0,
    CLICKHOUSE_PORT: config.CLICKHOUSE_URL === undefined ? config.CLICKHOUSE_PORT : 0,
  });
  for (const [name, use] of Object.entries(PORT_USES) as [keyof Ports, string][]) {
    const { port, taken } = ports[name];
    if (taken)
      output.say(
        `Port ${config[name]} for ${use} is taken; using ${port} (set ${name} to choose).`,
      );
  }
  return ports;
}

type PartsOptions = {
  config: StackConfig;
  ports: Ports;
  dataDir: string;
  postgresHome: string;
  secrets: Secrets;
  supervisor: Supervisor;
  output: Output;
};

/** Starts the parts that the product stands on, or makes sure of those that run elsewhere. */
export async function startParts({
  config,
  ports,
  dataDir,
  postgresHome,
  secrets,
  supervisor,
  output,
}: PartsOptions): Promise<StackUrls> {
  async function postgres(): Promise<string> {
    if (config.DATABASE_URL !== undefined) return config.DATABASE_URL;
    const place = preparePlace(await findPrograms(), postgresHome, output.say);
    initialise(place, secrets.postgresPassword);
    const { port } = ports.POSTGRES_PORT;
    await supervisor.start(postgresService(place, port, secrets.postgresPassword));
    return databaseUrl(port, secrets.postgresPassword);
  }

  async function nats(): Promise<string> {
    if (config.NATS_URL !== undefined) {
      await reach("NATS_URL", config.NATS_URL, takesClients);
      return config.NATS_URL;
    }
    const program = await findNatsServer(join(dataDir, "bin"), output.say);
    const { port } = ports.NATS_PORT;
    await supervisor.start(natsService(program, join(dataDir, "nats"), port));
    return natsUrl(port);
  }

  async function clickhouse(): Promise<string> {
    if (config.CLICKHOUSE_URL !== undefined) {
      await reach("CLICKHOUSE_URL", config.CLICKHOUSE_URL, (url) =>
        answersOk(new URL("/ping", url).href),
      );
      return config.CLICKHOUSE_URL;
    }
    const { port } = ports.CLICKHOUSE_PORT;
    await supervisor.start(clickhouseService(dataDir, port));
    return `http://127.0.0.1:${port}`;
  }

  const [database, natsServer, clickhouseServer] = await Promise.all([
    postgres(),
    nats(),
    clickhouse(),
  ]);
  return {
    api: `http://localhost:${ports.API_PORT.port}`,
    dashboard: `http://localhost:${ports.DASHBOARD_PORT.port}`,
    short: `http://localhost:${ports.REDIRECTOR_PORT.port}`,
    database,
    nats: natsServer,
    clickhouse: clickhouseServer,
  };
}

async function reach(
  variable: string,
  url: string,
  works: (url: string) => Promise<boolean>,
): Promise<void> {
  if (await works(url).catch(() => false)) return;
  // The address alone: the rest of the URL may hold a password.
  throw new Error(`${variable} is set, but nothing answers at ${new URL(url).host}.`);
}
