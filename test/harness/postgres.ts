/**
 * Only PostgreSQL, with all migrations applied: for tests of SQL statements and functions. Starts
 * in a fraction of a second, without durability, which such tests do not need.
 */
import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";

import { createKeyService } from "../../api/keys/service.ts";
import { createLinkService, type LinkService } from "../../api/links/service.ts";
import { migratePostgres } from "../../api/migrations/migrate.ts";
import { PasswordHashing } from "../../api/passwords/hashing.ts";
import { openPostgres, type Sql, usePostgres } from "../../api/postgres.ts";
import { createTagService, type TagService } from "../../api/tags/service.ts";
import {
  type PostgresInstallation,
  prepareInstallation,
  removeInstallation,
} from "../../deploy/local/postgres-installation.ts";
import {
  databaseUrl,
  findPrograms,
  initialise,
  postgresService,
} from "../../deploy/local/postgres.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { createLog } from "../../shared/log.ts";
import { eventually } from "./eventually.ts";
import { freePort } from "./ports.ts";
import { copyTemplate, PASSWORD } from "./postgres-template.ts";
import { createTemporaryDir } from "./templates.ts";

const START_TIMEOUT_MS = 30_000;
const CONNECTIONS_MAX = 10;

/**
 * Far more than the API has: how long a statement takes on a busy machine is no matter of these
 * tests.
 */
const STATEMENT_TIMEOUT_MS = 120_000;

/** Tests do not need durability, so they do not pay for it. */
const WITHOUT_DURABILITY = ["fsync=off", "synchronous_commit=off", "full_page_writes=off"];

export type TestPostgres = {
  sql: Sql;
  url: string;
  /** Creates an account on a plan; returns its id. */
  addAccount(plan?: "free" | "pro"): Promise<Uuid>;
  /** The link service on this database; publishes no links. */
  links: LinkService;
  tags: TagService;
  keys: ReturnType<typeof createKeyService>;
  [Symbol.asyncDispose](): Promise<void>;
};

/** The link service on a database; publishes no links. */
export const createLinksOn = (sql: Sql, { passwords = new PasswordHashing() } = {}): LinkService =>
  createLinkService({
    sql,
    feed: { publish: () => Promise.resolve(false) },
    domains: {
      findCustom: () => Promise.resolve(new Set()),
      findHosts: () => Promise.resolve({ known: [], others: [] }),
      requireVerified: () => Promise.reject(new Error("This test has no domains.")),
    },
    destinationRules: {
      allowPrivate: false,
      shortUrl: new URL("https://sho.rt"),
      ownHosts: new Set(["sho.rt"]),
    },
    passwords,
    readUsedClicks: () => Promise.resolve(undefined),
  });

/** Starts a server with a temporary data directory, in which all migrations are applied. */
export async function startPostgres(): Promise<TestPostgres> {
  const server = await startServer((installation) => copyTemplate(installation, makeCluster));
  const { url } = server;
  const sql = openPostgres(url, CONNECTIONS_MAX, { statementTimeoutMs: STATEMENT_TIMEOUT_MS });

  return {
    sql,
    url,
    keys: createKeyService({ sql }),
    tags: createTagService({ sql, shortUrl: "https://sho.rt" }),
    links: createLinksOn(sql),
    async addAccount(plan = "pro") {
      const id = newUuid();
      await sql`insert into accounts (id, name, plan, limits) values (${id}, 'Test', ${plan}, '{}')`;
      return id;
    },
    async [Symbol.asyncDispose]() {
      await sql.end({ timeout: 1 });
      await server.stop();
      server.remove();
    },
  };
}

/** Makes the cluster that all tests copy. */
async function makeCluster(keep: (data: string) => void): Promise<void> {
  const server = await startServer((installation) => initialise(installation, PASSWORD));
  try {
    await usePostgres(server.url, (sql) => migratePostgres(sql, createLog("test", "silent")));
    await server.stop();
    keep(server.data);
  } finally {
    await server.stop();
    server.remove();
  }
}

/** Starts a server in a temporary folder; `prepare` creates its database cluster. */
async function startServer(prepare: (installation: PostgresInstallation) => void | Promise<void>) {
  const dir = createTemporaryDir("shorthop-postgres-");
  // As root, the server runs as another user, which must be able to traverse the folder.
  chmodSync(dir, 0o755);
  const home = join(dir, "data", "postgres");
  mkdirSync(dirname(home));
  const installation = prepareInstallation(await findPrograms(), home, () => undefined);
  await prepare(installation);
  const port = freePort();
  const service = postgresService(installation, port, PASSWORD);
  const [program, ...args] = service.command;
  const server = Bun.spawn(
    [program, ...args, ...WITHOUT_DURABILITY.flatMap((setting) => ["-c", setting])],
    {
      env: { ...process.env, ...service.env },
      stdio: ["ignore", "ignore", "ignore"],
      ...service.user,
    },
  );
  await eventually(service.isReady, START_TIMEOUT_MS);
  return {
    url: databaseUrl(port, PASSWORD),
    data: join(installation.home, "data"),
    async stop() {
      server.kill("SIGINT");
      await server.exited;
    },
    /** Removes its files. */
    remove() {
      removeInstallation(home);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
