/**
 * Publishes links again: those of domains that change hands, or that switch between case-sensitive
 * and case-insensitive aliases. During a switch redirectors look up both aliases.
 */
import { foldAlias } from "../../shared/contracts/alias.ts";
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { repeat, type Repetition } from "../../shared/repeat.ts";
import { type UnpublishedDomain, withRepublishing } from "../domains/republishing.ts";
import { addToOutbox } from "../links-log/log.ts";
import type { LinksPublisher } from "../links-log/publisher.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { LinkRow } from "./model.ts";
import { recordAlias, toRecord } from "./record.ts";
import { lockAliases, selectLinks } from "./sql.ts";

/** How often each API process checks for domains that switch. */
const INTERVAL_MS = 1_000;

/** Links per transaction, which holds the locks of their aliases. */
const BATCH = 200;

/** Republishes in the background. Only one process at a time republishes a domain. */
export class Republishing {
  readonly #sql: Sql;
  readonly #publisher: LinksPublisher;
  readonly #log: Log;
  readonly #rounds: Repetition;
  #isStopped = false;

  constructor(sql: Sql, publisher: LinksPublisher, log: Log) {
    this.#sql = sql;
    this.#publisher = publisher;
    this.#log = log;
    this.#rounds = repeat(() => this.#run());
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#rounds.stop();
  }

  async #run(): Promise<number> {
    try {
      await withRepublishing(this.#sql, this.#publisher, (domain) => this.#publish(domain));
    } catch (error) {
      this.#log.warn({ error }, "republishing_failed");
    }
    return INTERVAL_MS;
  }

  /**
   * Publishes the names of a domain's links, in the order of their ids. Returns false when stopped
   * or when the tail was unreachable; it must then be repeated.
   */
  async #publish(domain: UnpublishedDomain): Promise<boolean> {
    let after: Uuid | null = null;
    while (!this.#isStopped) {
      const links: readonly NamedLink[] = await selectAfter(this.#sql, domain, after);
      if (links.length === 0) return true;
      await this.#sql.begin((transaction) => enqueueNames(transaction, links));
      if (!(await this.#publisher.publish())) return false;
      after = links.at(-1)?.id ?? null;
    }
    return false;
  }
}

type NamedLink = { id: Uuid; host: string; alias: string; version: number };

/** A switch concerns only aliases that it changes: of those in lower case the state stays. */
const selectAfter = async (sql: Sql, { id, republishing }: UnpublishedDomain, after: Uuid | null) =>
  await sql<NamedLink[]>`
    select link.id, host, alias, version::float8 as version
      from links link join domains on domains.id = domain_id
     where domain_id = ${id} and (${after}::uuid is null or link.id > ${after})
       and (${republishing} or alias <> fold_alias(alias))
     order by link.id limit ${BATCH}`;

/**
 * Enqueues what PostgreSQL has now under each alias of these links, in either case: the link of
 * whoever has the domain, or none. The log may have had the links under both, and of another
 * account.
 */
async function enqueueNames(transaction: Transaction, links: readonly NamedLink[]): Promise<void> {
  const names = links.flatMap(({ host: domain, alias, version }) =>
    [...new Set([alias, foldAlias(alias)])].map((name) => ({ version, domain, alias: name })),
  );
  // The order of the log depends on that.
  await lockAliases(transaction, names);
  const rows = await selectServed(transaction, names);
  const served = new Set(rows.map(recordAlias));
  const gone = names.filter(({ alias }) => !served.has(alias));
  // New aliases first, so that each link always has one.
  await addToOutbox(transaction, [
    ...rows.map(toRecord),
    ...gone.map((name): LinkRecord => ({ state: "deleted", ...name })),
  ]);
}

/** Reads the links that the verified domain of aliases has under these. */
async function selectServed(
  transaction: Transaction,
  names: readonly { domain: string; alias: string }[],
): Promise<LinkRow[]> {
  const aliases = names.map(({ alias }) => alias);
  return await transaction<LinkRow[]>`
    ${selectLinks(transaction)}
     where domain.host = ${names[0]?.domain ?? ""} and domain.verified_at is not null
       and (link.alias = any (${aliases}::text[]) or link.folded and fold_alias(link.alias) = any (${aliases}::text[]))`;
}
