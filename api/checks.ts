/** Checks of the API by `shorthop config check` and `shorthop doctor`. */
import type * as z from "zod";

import { requireGrants } from "../shared/clicks/query.ts";
import { CLICKS_STREAM } from "../shared/contracts/streams.ts";
import { LogSigner } from "../shared/links-log/signature.ts";
import { listSnapshots, SNAPSHOTS_STREAM } from "../shared/links-log/snapshots.ts";
import { LINK_LOG_STREAM } from "../shared/links-log/tail.ts";
import { natsLogin } from "../shared/nats.ts";
import { readTime } from "../shared/postgres.ts";
import {
  type Check,
  checkClock,
  checkRunning,
  type Checks,
  type Problem,
} from "../shared/preflight.ts";
import { checkNats, checkStreams, withConnection } from "../shared/stream-checks.ts";
import { clickHouseClient } from "./clickhouse.ts";
import { type configSchema, METRICS_PORTS, type migrateConfigSchema } from "./config.ts";
import { describeOutbox, readOutbox } from "./links-log/log.ts";
import { compareHostCounts } from "./links-snapshots/hosts.ts";
import { describeSnapshot } from "./links-snapshots/snapshot-maker.ts";
import { describeBackups, readBackups } from "./metrics.ts";
import { schemaState } from "./migrations/migrate.ts";
import {
  describeTimeLimit,
  findExcessPrivilege,
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
    checkNats(NATS_URL, config),
    {
      name: "CLICKHOUSE_URL",
      mend: "Start ClickHouse, and give its user the grants of clickhouse/users.xml.",
      run: () =>
        withClickHouse(CLICKHOUSE_URL, (query) => requireGrants(CLICKHOUSE_URL, GRANTS, query)),
    },
  ],
  thorough: ({ DATABASE_URL, NATS_URL, NATS_REPLICAS, CLICKHOUSE_URL, ...config }) => [
    checkSchema(DATABASE_URL),
    check({
      name: "role in PostgreSQL",
      first: "Mend DATABASE_URL first.",
      describe: () => usePostgres(DATABASE_URL, findExcessPrivilege),
      status: "warning",
      mend: "Use shorthop_api of postgres/roles.sql, which has only the rights that the API needs.",
    }),
    check({
      name: "time limit of statements",
      first: "Mend DATABASE_URL first.",
      describe: () => usePostgres(DATABASE_URL, describeTimeLimit),
      status: "warning",
      mend: "alter role shorthop_api set statement_timeout = '5s'",
    }),
    // Whether the tail of the links log has every change.
    check({
      name: "links log",
      first: "Mend the schema of PostgreSQL first.",
      describe: async () => describeOutbox(await usePostgres(DATABASE_URL, readOutbox)),
      status: "failed",
      mend: "A running API process publishes them. If it does not, its log says why (links_log_poll_failed).",
    }),
    // Whether there is a recent snapshot, which a new host takes.
    check({
      name: "snapshots of links",
      first: "Mend the connection to NATS first.",
      describe: () =>
        withConnection(natsLogin(NATS_URL, config), async (nats) => {
          const manager = await nats.jetstreamManager({ checkAPI: false });
          const stored = await listSnapshots(manager, new LogSigner(config));
          return describeSnapshot(stored.at(-1)?.storedAt);
        }),
      status: "warning",
      mend: "A running API process makes one a day, the first with the first account. If it does not, its log says why (links_snapshot_failed).",
    }),
    check({
      name: "links of hosts",
      first: "Mend PostgreSQL and the connection to NATS first.",
      describe: () =>
        usePostgres(DATABASE_URL, (sql) =>
          withConnection(natsLogin(NATS_URL, config), (nats) => compareHostCounts(sql, nats)),
        ),
      status: "failed",
      mend: "Run shorthop links resync: every host takes all links again.",
    }),
    // Whether there is a recent backup, and one that a drill has restored.
    check({
      name: "backups",
      first: "Mend the schema of PostgreSQL first.",
      describe: async () => describeBackups(await usePostgres(DATABASE_URL, readBackups)),
      status: "warning",
      mend: "Enable shorthop-backup.timer and shorthop-backup-drill.timer on one host (docs/operations.md#backup-and-restore), and see journalctl --unit shorthop-backup.",
    }),
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

const SELECT_TIME = "SELECT toUnixTimestamp64Milli(now64(3))";

/** What a check reads with one store, and the remedy for what it finds. */
type Described = {
  name: string;
  /** The remedy when `describe` throws. */
  first: string;
  /** Describes what is wrong; undefined when nothing is. */
  describe: () => Promise<string | undefined>;
  status: Problem["status"];
  mend: string;
};

const check = ({ name, first, describe, status, mend }: Described): Check => ({
  name,
  mend: first,
  async run() {
    const detail = await describe();
    return detail === undefined ? undefined : { status, detail, mend };
  },
});

const checkSchema = (url: string): Check =>
  check({
    name: "schema of PostgreSQL",
    first: "Mend DATABASE_URL first.",
    describe: async () => {
      const state = await usePostgres(url, schemaState);
      return state === "ok" ? undefined : state;
    },
    status: "failed",
    mend: "Run shorthop migrate, of this version.",
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
