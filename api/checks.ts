/** Checks of the API by `shorthop config check` and `shorthop doctor`. */
import type * as z from "zod";

import { requireGrants } from "../shared/clicks/query.ts";
import { CLICKS_STREAM } from "../shared/contracts/streams.ts";
import { type LinksKeys, LogSigner } from "../shared/links-log/signature.ts";
import { listSnapshots, SNAPSHOTS_STREAM } from "../shared/links-log/snapshots.ts";
import { LINK_LOG_STREAM } from "../shared/links-log/tail.ts";
import { type NatsFiles, natsLogin, probeNats } from "../shared/nats.ts";
import { readTime } from "../shared/postgres.ts";
import { type Check, checkClock, checkRunning, type Checks } from "../shared/preflight.ts";
import { checkStreams, withConnection } from "../shared/stream-checks.ts";
import { clickHouseClient } from "./clickhouse.ts";
import { type configSchema, METRICS_PORTS, type migrateConfigSchema } from "./config.ts";
import { describeOutbox, readOutbox } from "./links-log/log.ts";
import { compareHostCounts } from "./links-snapshots/hosts.ts";
import { describeSnapshot } from "./links-snapshots/snapshot-maker.ts";
import { describeBackups, readBackups } from "./metrics.ts";
import { schemaState } from "./migrations/migrate.ts";
import {
  findExcessPrivilege,
  isTimeLimited,
  requireOwnership,
  requirePrivileges,
  usePostgres,
} from "./postgres.ts";

type Config = z.output<typeof configSchema>;

/** Analytics only reads. */
const GRANTS = ["SELECT"];

export const checks: Checks<Config> = {
  required: ({ DATABASE_URL, NATS_URL, CLICKHOUSE_URL, ...config }) => [
    {
      name: "DATABASE_URL",
      mend: "If there was a database, mount its disk or restore it. A new one: run shorthop migrate, and then postgres/grants.sql; users are those of postgres/roles.sql.",
      run: () => usePostgres(DATABASE_URL, requirePrivileges),
    },
    {
      name: "NATS_URL",
      mend: "Start NATS with JetStream and the users of nats/users.conf.",
      run: probeNats(NATS_URL, config),
    },
    {
      name: "CLICKHOUSE_URL",
      mend: "Start ClickHouse, and give its user the grants of clickhouse/users.xml.",
      run: () =>
        withClickHouse(CLICKHOUSE_URL, (query) => requireGrants(CLICKHOUSE_URL, GRANTS, query)),
    },
  ],
  thorough: ({ DATABASE_URL, NATS_URL, NATS_REPLICAS, CLICKHOUSE_URL, ...config }) => [
    checkSchema(DATABASE_URL),
    checkExcess(DATABASE_URL),
    checkTimeLimit(DATABASE_URL),
    checkLinksLog(DATABASE_URL),
    checkSnapshots(NATS_URL, config),
    checkHostCounts(DATABASE_URL, NATS_URL, config),
    checkBackups(DATABASE_URL),
    ...checkStreams({
      url: NATS_URL,
      files: config,
      streams: STREAMS,
      readable: STREAMS,
      replicas: NATS_REPLICAS,
    }),
    checkClock("PostgreSQL", () => usePostgres(DATABASE_URL, readTime)),
    checkClock("ClickHouse", () =>
      withClickHouse(CLICKHOUSE_URL, async (query) => Number(await query(SELECT_TIME))),
    ),
    checkRunning("api", config.API_METRICS_HOST, config.API_METRICS_PORT, METRICS_PORTS),
  ],
};

const STREAMS = [LINK_LOG_STREAM, SNAPSHOTS_STREAM, CLICKS_STREAM];

/** For `migrate.env`, whose database user owns the tables. */
export const migrateChecks: Checks<z.output<typeof migrateConfigSchema>> = {
  required: ({ DATABASE_URL }) => [
    {
      name: "DATABASE_URL",
      mend: "Use the user shorthop of postgres/roles.sql in migrate.env.",
      run: () => usePostgres(DATABASE_URL, requireOwnership),
    },
    checkSchema(DATABASE_URL),
  ],
};

/** Whether the tail of the links log has every change. */
const checkLinksLog = (url: string): Check => ({
  name: "links log",
  mend: "Mend the schema of PostgreSQL first.",
  async run() {
    const detail = describeOutbox(await usePostgres(url, readOutbox));
    if (detail === undefined) return undefined;
    return {
      status: "failed",
      detail,
      mend: "A running API process publishes them. If it does not, its log says why (links_log_poll_failed).",
    };
  },
});

/** Whether there is a recent snapshot, which a new host takes. */
const checkSnapshots = (url: string, config: LinksKeys & NatsFiles): Check => ({
  name: "snapshots of links",
  mend: "Mend the connection to NATS first.",
  async run() {
    const signer = new LogSigner(config);
    const stored = await withConnection(natsLogin(url, config), async (nats) =>
      listSnapshots(await nats.jetstreamManager({ checkAPI: false }), signer),
    );
    const detail = describeSnapshot(stored.at(-1)?.storedAt);
    if (detail === undefined) return undefined;
    return {
      status: "warning",
      detail,
      mend: "A running API process makes one a day, the first with the first account. If it does not, its log says why (links_snapshot_failed).",
    };
  },
});

const checkHostCounts = (database: string, url: string, files: NatsFiles): Check => ({
  name: "links of hosts",
  mend: "Mend PostgreSQL and the connection to NATS first.",
  async run() {
    const detail = await usePostgres(database, (sql) =>
      withConnection(natsLogin(url, files), (nats) => compareHostCounts(sql, nats)),
    );
    if (detail === undefined) return undefined;
    const mend = "Run shorthop links resync: every host takes all links again.";
    return { status: "failed", detail, mend };
  },
});

/** Whether there is a recent backup, and one that a drill has restored. */
const checkBackups = (url: string): Check => ({
  name: "backups",
  mend: "Mend the schema of PostgreSQL first.",
  async run() {
    const detail = describeBackups(await usePostgres(url, readBackups));
    if (detail === undefined) return undefined;
    const mend =
      "Enable shorthop-backup.timer and shorthop-backup-drill.timer on one host (docs/operations.md#backup-and-restore), and see journalctl --unit shorthop-backup.";
    return { status: "warning", detail, mend };
  },
});

const SELECT_TIME = "SELECT toUnixTimestamp64Milli(now64(3))";

const checkSchema = (url: string): Check => ({
  name: "schema of PostgreSQL",
  mend: "Mend DATABASE_URL first.",
  async run() {
    const detail = await usePostgres(url, schemaState);
    if (detail === "ok") return undefined;
    return { status: "failed", detail, mend: "Run shorthop migrate, of this version." };
  },
});

const checkExcess = (url: string): Check => ({
  name: "role in PostgreSQL",
  mend: "Mend DATABASE_URL first.",
  async run() {
    const detail = await usePostgres(url, findExcessPrivilege);
    if (detail === undefined) return undefined;
    const mend =
      "Use shorthop_api of postgres/roles.sql, which has only the rights that the API needs.";
    return { status: "warning", detail, mend };
  },
});

const checkTimeLimit = (url: string): Check => ({
  name: "time limit of statements",
  mend: "Mend DATABASE_URL first.",
  async run() {
    if (await usePostgres(url, isTimeLimited)) return undefined;
    return {
      status: "warning",
      detail: "there is none: a pooler has dropped it",
      mend: "alter role shorthop_api set statement_timeout = '5s'",
    };
  },
});

/** Runs `work` with a function that runs a statement and returns its output as text. */
async function withClickHouse<T>(
  url: string,
  work: (query: (statement: string) => Promise<string>) => Promise<T>,
): Promise<T> {
  const client = clickHouseClient(url);
  try {
    return await work(
      async (query) => await new Response((await client.exec({ query })).stream).text(),
    );
  } finally {
    await client.close();
  }
}
