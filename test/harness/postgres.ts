/**
 * Only PostgreSQL, with all migrations applied: for tests of SQL statements and functions.
 */
import { DomainService } from "../../api/domains/service.ts";
import { SYSTEM, type Writer } from "../../api/http/principal.ts";
import { KeyService } from "../../api/keys/service.ts";
import type { LinksPublisher } from "../../api/links-log/publisher.ts";
import { LinkService } from "../../api/links/service.ts";
import type { UsedClicks } from "../../api/links/used-clicks.ts";
import { PasswordHashing } from "../../api/passwords/hashing.ts";
import { postgresPool, type Sql } from "../../api/postgres.ts";
import { TagService } from "../../api/tags/service.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { createDatabase, SHARED_POSTGRES, startMigratedServer } from "./postgres-server.ts";

const CONNECTIONS_MAX = 10;

/**
 * Far more than the API has: how long a connection or a statement takes on a busy machine is no
 * matter of these tests.
 */
const PATIENT = { connectTimeoutSeconds: 60, statementTimeoutMs: 120_000 };

export type TestPostgres = {
  sql: Sql;
  url: string;
  /** Creates an account on a plan; returns its id. */
  addAccount(plan?: "free" | "pro"): Promise<Uuid>;
  /** Creates an account; returns it as who writes in its live mode. */
  addWriter(): Promise<Writer>;
  /** The link service on this database; publishes no links. */
  links: LinkService;
  tags: TagService;
  keys: KeyService;
  [Symbol.asyncDispose](): Promise<void>;
};

export type OwnPostgres = TestPostgres & {
  /** Stops the processing of the server and of its connections until it is resumed. */
  pause(): void;
  resume(): void;
};

type LinkParts = {
  publisher?: LinksPublisher;
  /** What domains do otherwise than those of the database. */
  domains?: Partial<DomainService>;
  passwords?: PasswordHashing;
  usedClicks?: UsedClicks;
};

const noRecords = () => Promise.resolve([]);

/** The link service on a database; publishes no links, and knows no used clicks. */
export function createLinksOn(
  sql: Sql,
  {
    publisher = { publish: () => Promise.resolve(false) },
    domains = {},
    passwords = new PasswordHashing(),
    usedClicks = { read: () => Promise.resolve(undefined) },
  }: LinkParts = {},
): LinkService {
  const shortUrl = new URL("https://sho.rt");
  const ownHosts = new Set([shortUrl.host]);
  const rules = { allowPrivate: false, shortUrl, ownHosts };
  const own = new DomainService(sql, publisher, noRecords, ownHosts, (url) => Promise.resolve(url));
  const changed = Object.assign(own, domains);
  return new LinkService(sql, publisher, changed, rules, passwords, usedClicks);
}

/**
 * Makes a database in which all migrations are applied: on the server of the run if it has one,
 * else on one of its own.
 */
export async function startPostgres(): Promise<TestPostgres> {
  const shared = process.env[SHARED_POSTGRES];
  if (shared === undefined) return await startOwnPostgres();
  return openTestPostgres(await createDatabase(shared), () => Promise.resolve());
}

/** The same on a server of its own, for tests of its roles and settings. */
export async function startOwnPostgres(): Promise<OwnPostgres> {
  const server = await startMigratedServer();
  return {
    ...openTestPostgres(server.url, async () => await server[Symbol.asyncDispose]()),
    pause: () => server.signal("SIGSTOP"),
    resume: () => server.signal("SIGCONT"),
  };
}

function openTestPostgres(url: string, stop: () => Promise<void>): TestPostgres {
  const sql = postgresPool(url, CONNECTIONS_MAX, PATIENT);
  return {
    sql,
    url,
    keys: new KeyService(sql),
    tags: new TagService(sql, "https://sho.rt"),
    links: createLinksOn(sql),
    async addAccount(plan = "pro") {
      const id = newUuid();
      await sql`insert into accounts (id, name, plan, limits) values (${id}, 'Test', ${plan}, '{}')`;
      return id;
    },
    async addWriter() {
      return { accountId: await this.addAccount(), mode: "live", plan: "pro", actor: SYSTEM };
    },
    async [Symbol.asyncDispose]() {
      await sql.end({ timeout: 1 });
      await stop();
    },
  };
}
