/**
 * Publishes links again: those of domains that change hands, or that switch between case-sensitive
 * and case-insensitive aliases. During a switch redirectors look up both aliases.
 */
import { foldAlias } from "../../shared/contracts/alias.ts";
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { repeat, type Repetition } from "../../shared/repeat.ts";
import { withRepublishing, withSwitching } from "../domains/republishing.ts";
import { addToOutbox } from "../links-log/log.ts";
import type { LinksPublisher } from "../links-log/publisher.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { LinkRow } from "./model.ts";
import { recordAlias, recordDomain, toRecord } from "./record.ts";
import { findLinksInOrder, lockAliases } from "./sql.ts";

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
      await withRepublishing(this.#sql, (id, verified) =>
        this.#publish((transaction, after) => enqueueWhole(transaction, id, verified, after)),
      );
      await withSwitching(this.#sql, this.#publisher, (id) =>
        this.#publish((transaction, after) => enqueueSwitched(transaction, id, after)),
      );
    } catch (error) {
      this.#log.warn({ error }, "republishing_failed");
    }
    return INTERVAL_MS;
  }

  /**
   * Publishes links in id order: `enqueue` adds up to {@link BATCH} links after `after` to the
   * outbox, and returns them. Returns false when stopped or when the tail was unreachable; it must
   * then be repeated.
   */
  async #publish(
    enqueue: (transaction: Transaction, after: Uuid | null) => Promise<readonly LinkRow[]>,
  ): Promise<boolean> {
    let after: Uuid | null = null;
    while (!this.#isStopped) {
      const last: Uuid | null = after;
      const links: readonly LinkRow[] = await this.#sql.begin((transaction) =>
        enqueue(transaction, last),
      );
      if (links.length > 0 && !(await this.#publisher.publish())) return false;
      if (links.length < BATCH) return true;
      after = links.at(-1)?.id ?? null;
    }
    return false;
  }
}

/**
 * Enqueues the next links of a domain that an account has verified again, or withdraws those of a
 * domain that it has lost. The new account may have links under the same aliases.
 */
async function enqueueWhole(
  transaction: Transaction,
  domainId: Uuid,
  verified: boolean,
  after: Uuid | null,
): Promise<LinkRow[]> {
  const links = await lockDomainLinks(transaction, domainId, after, false);
  // The domain has changed hands meanwhile: the job starts again with the current state.
  if (links.some(({ served }) => served !== verified)) return [];
  await lockNames(transaction, links);
  const records = verified ? links.map(toRecord) : await toWithdrawals(transaction, links);
  await addToOutbox(transaction, records);
  return links;
}

/**
 * The deletions of links, except of aliases that the domain's current account has. Compares both
 * cases of an alias, because the domain may have been switching when it was lost.
 */
async function toWithdrawals(
  transaction: Transaction,
  rows: readonly LinkRow[],
): Promise<LinkRecord[]> {
  const names = rows.flatMap((row) => {
    const aliases = new Set([row.alias, foldAlias(row.alias)]);
    return [...aliases].map((alias) => ({
      version: row.version,
      domain: recordDomain(row),
      alias,
    }));
  });
  const [first] = names;
  if (first === undefined) return [];
  const aliases = names.map(({ alias }) => alias);
  const served = await findServedAliases(transaction, first.domain, aliases);
  return names
    .filter(({ alias }) => !served.has(alias))
    .map((name): LinkRecord => ({ state: "deleted", ...name }));
}

/**
 * Enqueues the next links of a domain that switches under their current aliases, and deletes their
 * former ones.
 */
async function enqueueSwitched(
  transaction: Transaction,
  domainId: Uuid,
  after: Uuid | null,
): Promise<LinkRow[]> {
  const links = await lockDomainLinks(transaction, domainId, after, true);
  await lockNames(transaction, links);
  const taken = await findTakenAliases(transaction, domainId, links.map(formerAlias));
  // On a domain that has become case-sensitive, another link may have the lower-case alias.
  const former = links
    .filter((row) => row.folded || !taken.has(formerAlias(row)))
    .map((row): LinkRecord => ({
      state: "deleted",
      version: row.version,
      domain: recordDomain(row),
      alias: formerAlias(row),
    }));
  // Publishes the new aliases first, so that each link always has one.
  await addToOutbox(transaction, [...links.map(toRecord), ...former]);
  return links;
}

/** The alias under which the log had a link before its domain switched. */
const formerAlias = (row: LinkRow): string =>
  recordAlias({ alias: row.alias, folded: !row.folded });

/** Locks the aliases of links in both cases, as the order of the log depends on that. */
const lockNames = (transaction: Transaction, links: readonly LinkRow[]): Promise<void> =>
  lockAliases(
    transaction,
    links.flatMap((link) =>
      [link.alias, foldAlias(link.alias)].map((alias) => ({ domain: recordDomain(link), alias })),
    ),
  );

/**
 * Locks the next links of a domain after one, in id order: all of them, or only those whose aliases
 * have upper-case letters.
 */
async function lockDomainLinks(
  transaction: Transaction,
  domainId: Uuid,
  after: Uuid | null,
  hasCase: boolean,
): Promise<LinkRow[]> {
  const condition = hasCase ? transaction`and alias <> fold_alias(alias)` : transaction``;
  const locked = await transaction<{ id: Uuid }[]>`
    select id from links
     where domain_id = ${domainId} ${condition} and (${after}::uuid is null or id > ${after})
     order by id limit ${BATCH} for update`;
  const ids = locked.map(({ id }) => id);
  return ids.length === 0 ? [] : await findLinksInOrder(transaction, ids);
}

/** Returns the aliases that links of a domain have, with exact case. */
async function findTakenAliases(
  transaction: Transaction,
  domainId: Uuid,
  aliases: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await transaction<{ alias: string }[]>`
    select alias from links where domain_id = ${domainId} and alias = any (${[...aliases]}::text[])`;
  return new Set(rows.map(({ alias }) => alias));
}

/** Returns the aliases (as the log names them) that links of a verified domain have. */
async function findServedAliases(
  transaction: Transaction,
  host: string,
  aliases: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await transaction<{ alias: string }[]>`
    select case when link.folded then fold_alias(link.alias) else link.alias end as alias
      from domains domain join links link on link.domain_id = domain.id
     where domain.host = ${host} and domain.verified_at is not null
       and (link.alias = any (${[...aliases]}::text[]) or link.folded and fold_alias(link.alias) = any (${[...aliases]}::text[]))`;
  return new Set(rows.map(({ alias }) => alias));
}
