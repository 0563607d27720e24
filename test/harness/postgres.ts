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
import { createDatabase, PostgresServer, SHARED_POSTGRES } from "./postgres-server.ts";

const CONNECTIONS_MAX = 10;

/**
 * Far more than the API has: how long a connection or a statement takes on a busy machine is no
 * matter of these tests.
 */
const PATIENT = { connectTimeoutSeconds: 60, statementTimeoutMs: 120_000 };

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

/** A database in which all migrations are applied, and services that work on it. */
export class TestPostgres implements AsyncDisposable {
  readonly sql: Sql;
  readonly url: string;
  readonly keys: KeyService;
  readonly tags: TagService;
  /** The link service on this database; publishes no links. */
  readonly links: LinkService;
  readonly #server: PostgresServer | undefined;

  constructor(url: string, server?: PostgresServer) {
    this.url = url;
    this.sql = postgresPool(url, CONNECTIONS_MAX, PATIENT);
    this.keys = new KeyService(this.sql);
    this.tags = new TagService(this.sql, "https://sho.rt");
    this.links = createLinksOn(this.sql);
    this.#server = server;
  }

  /** Creates an account on a plan; returns its id. */
  async addAccount(plan: "free" | "pro" = "pro"): Promise<Uuid> {
    const id = newUuid();
    await this.sql`
      insert into accounts (id, name, plan, limits) values (${id}, 'Test', ${plan}, '{}')`;
    return id;
  }

  /** Creates an account; returns it as who writes in its live mode. */
  async addWriter(): Promise<Writer> {
    return { accountId: await this.addAccount(), mode: "live", plan: "pro", actor: SYSTEM };
  }

  /** Stops its own server and its connections until they are resumed. */
  pause(): void {
    this.#server?.signal("SIGSTOP");
  }

  resume(): void {
    this.#server?.signal("SIGCONT");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sql.end({ timeout: 1 });
    await this.#server?.[Symbol.asyncDispose]();
  }
}

/**
 * Makes a database on the server of the run if it has one; else, or for tests of roles, settings
 * and pauses with `ownServer`, on one of its own.
 */
export async function startPostgres({ ownServer = false } = {}): Promise<TestPostgres> {
  const shared = process.env[SHARED_POSTGRES];
  if (shared !== undefined && !ownServer) return new TestPostgres(await createDatabase(shared));
  const server = await PostgresServer.start();
  return new TestPostgres(server.url, server);
}
