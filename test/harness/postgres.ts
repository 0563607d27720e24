/**
 * Only PostgreSQL, with all migrations applied: for tests of SQL statements and functions.
 */
import { DomainService } from "../../api/domains/service.ts";
import { SYSTEM, type Writer } from "../../api/http/principal.ts";
import { KeyService } from "../../api/keys/service.ts";
import type { LinksPublisher } from "../../api/links-log/publisher.ts";
import type { CreateLinkBody } from "../../api/links/model.ts";
import { LinkService } from "../../api/links/service.ts";
import type { UsedClicks } from "../../api/links/used-clicks.ts";
import { PasswordHashing } from "../../api/passwords/hashing.ts";
import { postgresPool, type Sql } from "../../api/postgres.ts";
import { TagService } from "../../api/tags/service.ts";
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import type { Role } from "../../shared/contracts/users.ts";
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

/** For a change without preconditions. */
export const anyVersion = (): void => undefined;

/** Creates the link with an external id, or replaces it. */
export const upsertLink = (
  links: LinkService,
  owner: Writer,
  externalId: string,
  body: CreateLinkBody,
) => links.upsert(owner, { externalId, body, requireVersion: anyVersion, mustExist: false });

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
  async addWriter(plan: "free" | "pro" = "pro"): Promise<Writer> {
    return { accountId: await this.addAccount(plan), mode: "live", plan, actor: SYSTEM };
  }

  /** Adds somebody to an account. */
  async addMember(
    accountId: Uuid,
    role: Role,
    isConfirmed = true,
  ): Promise<{ id: Uuid; email: string }> {
    const [user] = await this.sql<[{ id: Uuid; email: string }]>`
      insert into users (email, name, email_verified)
      values (${`${newUuid()}@example.com`}, 'n', ${isConfirmed}) returning id, email`;
    await this.sql`
      insert into members (account_id, user_id, role) values (${accountId}, ${user.id}, ${role})`;
    return user;
  }

  /** Adds a verified domain of an account. */
  async addDomain(
    accountId: Uuid,
    host = `${newUuid()}.example`,
    caseSensitive = true,
  ): Promise<{ id: Uuid; host: string }> {
    const id = newUuid();
    await this.sql`
      insert into domains (id, account_id, mode, host, verification_value, verified_at, case_sensitive)
      values (${id}, ${accountId}, 'live', ${host}, 'x', now(), ${caseSensitive})`;
    return { id, host };
  }

  /** What is published of an alias, oldest first. */
  async outboxOf(alias: string): Promise<LinkRecord[]> {
    const rows = await this.sql<{ state: LinkRecord }[]>`
      select state::jsonb as state from link_outbox where alias = ${alias} order by id`;
    return rows.map(({ state }) => state);
  }

  /** All rows of all tables, as text. */
  async dump(): Promise<string> {
    const tables = await this.sql<{ name: string }[]>`
      select table_name as name from information_schema.tables where table_schema = 'public'`;
    const rows = tables.map(
      ({ name }) => this.sql<{ row: string }[]>`select t::text as row from ${this.sql(name)} t`,
    );
    return (await Promise.all(rows)).flatMap((all) => all.map(({ row }) => row)).join("\n");
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
