/**
 * Publishes links again: those of domains that change hands, or that switch between case-sensitive
 * and case-insensitive aliases. During a switch redirectors look up both aliases.
 */
import { foldAlias } from "../../shared/contracts/alias.ts";
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import type { Log } from "../../shared/log.ts";
import { repeatEvery, type Repetition } from "../../shared/repeat.ts";
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
  readonly #rounds: Repetition;
  #isStopped = false;

  constructor(sql: Sql, publisher: LinksPublisher, log: Log) {
    this.#sql = sql;
    this.#publisher = publisher;
    const republish = () => withRepublishing(sql, publisher, (domain) => this.#publish(domain));
    this.#rounds = repeatEvery(INTERVAL_MS, republish, { log, failure: "republishing_failed" });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#rounds.stop();
  }

  /**
   * Publishes the names of a domain's links, in the order of their aliases. Returns false when
   * stopped or when the tail was unreachable; it must then be repeated.
   */
  async #publish(domain: UnpublishedDomain): Promise<boolean> {
    let after = "";
    while (!this.#isStopped) {
      const links: readonly NamedLink[] = await selectAfter(this.#sql, domain, after);
      if (links.length === 0) return true;
      await this.#sql.begin((transaction) => enqueueNames(transaction, links));
      if (!(await this.#publisher.publish())) return false;
      after = links.at(-1)?.alias ?? "";
    }
    return false;
  }
}

type NamedLink = { host: string; alias: string; version: number };

/**
 * Reads the names of a domain's next links after an alias, by the index of its aliases. A switch
 * concerns only those that it changes: of those in lower case the state stays.
 */
export const selectAfter = (sql: Sql, { id, republishing }: UnpublishedDomain, after: string) =>
  sql<NamedLink[]>`
    select host, alias, version::float8 as version
      from links link join domains on domains.id = domain_id
     where domain_id = ${id} and alias > ${after} and (${republishing} or alias <> fold_alias(alias))
     order by alias limit ${BATCH}`;

/**
 * Enqueues what PostgreSQL has now under each alias of these links, in either case: the link of the
 * account that has the domain, or none. The log may have had the links under both, and of another
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

/**
 * Reads the links that the verified domain of aliases has under these, one by one: to find many
 * together, PostgreSQL would read all links of a domain, which may be millions.
 */
export function selectServed(
  sql: Sql | Transaction,
  names: readonly { domain: string; alias: string }[],
) {
  const aliases = names.map(({ alias }) => alias);
  return sql<LinkRow[]>`
    ${selectLinks(sql)}
     where link.id in (
             select named.id
               from domains
              cross join unnest(${aliases}::text[]) as names (alias)
              cross join lateral (
                select id from links where domain_id = domains.id and alias = names.alias
                union all
                select id from links where domain_id = domains.id and folded and fold_alias(alias) = names.alias
              ) named
              where domains.host = ${names[0]?.domain ?? ""} and domains.verified_at is not null)`;
}
