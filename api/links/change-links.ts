/**
 * The journey of a change of links, one or many, from a validated body to the redirectors:
 *
 * 1. The bodies become changes (`prepare-link.ts`), before anything is locked.
 * 2. One transaction locks the links, applies the changes to them, locks their short links, draws
 *    versions, drops the changes whose names are taken, and writes the others. The new states go to
 *    the outbox, and what has happened to the ledger of events.
 * 3. The publisher takes the outbox to the log of all redirectors. If that takes too long, the
 *    response says so, and another run of any process does it.
 *
 * Each row of a request succeeds or fails on its own (`results.ts`).
 */
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import { keyOf } from "../../shared/contracts/short-link.ts";
import { recordEvents } from "../events/record.ts";
import { ApiError, unavailable } from "../http/errors.ts";
import type { AccountScope, Writer } from "../http/principal.ts";
import { budgets } from "../limits/budgets.ts";
import { addToOutbox } from "../links-log/log.ts";
import type { LinksPublisher } from "../links-log/publisher.ts";
import { describeMissing } from "../owned-rows.ts";
import { isForeignKeyViolation, type Sql, type Transaction } from "../postgres.ts";
import { changeEvent } from "./events.ts";
import type { LinkRow } from "./model.ts";
import { conflictError, isNameTaken, NameClaims } from "./names.ts";
import { applyChange, type LinkChange, type LinkPreparation } from "./prepare-link.ts";
import { shortLinkOf, sizeProblem, toRecord } from "./record.ts";
import {
  chargePasswords,
  type Failure,
  isFailure,
  type LinkResult,
  type LinkResults,
  requireWriting,
  type Target,
  toFailure,
  type Update,
} from "./results.ts";
import { forwardsPath } from "./settings.ts";
import {
  deleteLinkRows,
  findConflicts,
  lockAliasesAndDrawVersions,
  lockLinks,
  type RequestedNames,
  updateLinkRows,
} from "./sql.ts";

type Change = Target & { change: LinkChange | "delete" };

/** A change of a locked link, with its index in the request; `row` is undefined for a deletion. */
type LockedChange = { index: number; old: LinkRow; row: LinkRow | undefined };

/** A change that was written: the new state has its version; undefined for a deleted link. */
type WrittenChange = { old: LinkRow; row: LinkRow | undefined; version: number };

/** Maximum attempts while other requests take the names that the links are to have. */
const ATTEMPTS_MAX = 5;

/** Changes links that exist, and publishes the changes to the redirectors. */
export class LinkChanges {
  readonly #sql: Sql;
  readonly #publisher: LinksPublisher;
  readonly #preparation: LinkPreparation;
  readonly #shortUrl: string;

  /** `shortUrl` is the origin of short links. */
  constructor(sql: Sql, publisher: LinksPublisher, preparation: LinkPreparation, shortUrl: string) {
    this.#sql = sql;
    this.#publisher = publisher;
    this.#preparation = preparation;
    this.#shortUrl = shortUrl;
  }

  /**
   * Updates links; an update without effect writes nothing. Each is checked against the state
   * before the request: an alias or external id that another row frees still counts as taken. A
   * link fails with `not_found`, `link_taken_down` when it would be renamed or moved,
   * `precondition_failed`, and with what creating a link fails with. Throws `rate_limited` when
   * nothing is left of the account's budgets, and `unavailable` for a renamed link while those of
   * its domain are published again.
   */
  async update(owner: Writer, updates: readonly (Update | Failure)[]): Promise<LinkResults> {
    requireWriting(owner);
    chargePasswords(owner, updates);
    return await this.#change(owner, await this.#preparation.prepareChanges(owner, updates));
  }

  /**
   * Deletes links permanently, and frees their aliases. A link fails with `not_found`,
   * `link_taken_down` and `precondition_failed`. Throws `rate_limited`, and `unavailable` while the
   * links of a domain are published again.
   */
  async remove(owner: Writer, targets: readonly (Target | Failure)[]): Promise<LinkResults> {
    requireWriting(owner);
    const deletions = targets.map((target) =>
      isFailure(target) ? target : { ...target, change: "delete" as const },
    );
    return await this.#change(owner, deletions);
  }

  /** Commits the changes and publishes them; again if another request has just taken a name. */
  async #change(owner: Writer, changes: readonly (Change | Failure)[]): Promise<LinkResults> {
    let failure: unknown;
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      try {
        const { results, mustPublish } = await this.#sql.begin((transaction) =>
          this.#commit(transaction, owner, changes),
        );
        return { results, propagated: !mustPublish || (await this.#publisher.publish()) };
      } catch (error) {
        if (isForeignKeyViolation(error))
          throw new ApiError("conflict", "The domain was removed meanwhile; nothing was changed.");
        // An external id has no lock. The next attempt finds that it is taken.
        if (!isNameTaken(error)) throw error;
        failure = error;
      }
    }
    throw unavailable(failure);
  }

  /**
   * The steps of the transaction. Returns the outcome of each change, and whether there is anything
   * to publish.
   */
  async #commit(
    transaction: Transaction,
    owner: Writer,
    changes: readonly (Change | Failure)[],
  ): Promise<{ results: LinkResult[]; mustPublish: boolean }> {
    const results: LinkResult[] = [];
    const locked = await lockChanges(transaction, owner, changes, results);
    await requireSettledNames(transaction, locked);
    const versions = await lockNames(transaction, locked);
    const free = await dropTaken(transaction, owner, locked, results);
    const written = await writeChanges(transaction, free, versions, results);
    budgets.spend(owner, "changed_links", written.length);
    const records = written.flatMap(recordsOf);
    const events = written.map(({ old, row }) => changeEvent(old, row, this.#shortUrl));
    await Promise.all([
      addToOutbox(transaction, records),
      recordEvents(transaction, owner, events),
    ]);
    return { results, mustPublish: records.length > 0 };
  }
}

/**
 * Locks the links; returns the changes that have an effect, and writes the other outcomes into
 * `results`.
 */
async function lockChanges(
  transaction: Transaction,
  owner: AccountScope,
  changes: readonly (Change | Failure)[],
  results: LinkResult[],
): Promise<LockedChange[]> {
  const ids = changes.flatMap((change) => (isFailure(change) ? [] : (change.id ?? [])));
  const links = ids.length === 0 ? undefined : await lockLinks(transaction, owner, ids);
  const absent = ids.filter((id) => links?.get(id) === undefined);
  const toMissing = await describeMissing(transaction, owner, "links", absent);
  const updated_at = new Date();
  const locked: LockedChange[] = [];
  for (const [index, change] of changes.entries()) {
    if (isFailure(change)) {
      results[index] = change;
      continue;
    }
    const old = change.id === undefined ? undefined : links?.get(change.id);
    try {
      if (old === undefined) throw toMissing(change.id);
      const row = changeRow(old, change);
      if (row === old) results[index] = { link: old };
      else locked.push({ index, old, row: row && { ...row, updated_at } });
    } catch (error) {
      results[index] = toFailure(error);
    }
  }
  return locked;
}

/**
 * The new state of a link: `old` itself if the change has no effect, undefined if it is deleted.
 */
function changeRow(old: LinkRow, { requireVersion, change }: Change): LinkRow | undefined {
  requireVersion?.(old.version);
  const row = change === "delete" ? undefined : applyChange(old, change);
  if (Bun.deepEquals(row, old)) return old;
  if (old.taken_down && (row === undefined || isRenamed(old, row))) throw linkTakenDown();
  const problem = row && sizeProblem(row);
  if (problem !== undefined) throw problem;
  return row;
}

/** Whether the short URL changes, even if only its case does. */
const isRenamed = (old: LinkRow, row: LinkRow): boolean =>
  row.alias !== old.alias || row.domain_id !== old.domain_id;

const linkTakenDown = (): ApiError =>
  new ApiError(
    "link_taken_down",
    "An operator has taken the link down. It can be neither deleted nor renamed.",
  );

/**
 * Throws `unavailable` for links that are deleted or renamed while those of their domain are
 * published again, as it switches case or is another account's: redirectors still have them under
 * names that nobody would find any more.
 */
async function requireSettledNames(
  transaction: Transaction,
  changes: readonly LockedChange[],
): Promise<void> {
  const domains = changes.flatMap(({ old, row }) =>
    row === undefined || isRenamed(old, row) ? (old.domain_id ?? []) : [],
  );
  if (domains.length === 0) return;
  const unsettled = await transaction`
    select from domains
     where id = any (${domains}::uuid[]) and (switching or republishing and verified_at is null) limit 1`;
  if (unsettled.length > 0) throw unavailable();
}

/** Locks the short links before and after the changes; draws a version for each change. */
async function lockNames(
  transaction: Transaction,
  changes: readonly LockedChange[],
): Promise<number[]> {
  if (changes.length === 0) return [];
  const names = changes.flatMap(({ old, row }) => [old, row ?? old].map(shortLinkOf));
  return await lockAliasesAndDrawVersions(transaction, names, changes.length);
}

/**
 * Returns the changes whose new alias and external id are free, and writes the errors of the others
 * into `results`. Their short links are locked.
 */
async function dropTaken(
  transaction: Transaction,
  owner: AccountScope,
  changes: readonly LockedChange[],
  results: LinkResult[],
): Promise<readonly LockedChange[]> {
  const named = changes.map((change) => ({ change, names: newNames(change) }));
  const claiming = named.flatMap(({ names }) =>
    names.alias !== null || names.external_id !== null ? names : [],
  );
  if (claiming.length === 0) return changes;
  const conflicts = await findConflicts(transaction, owner, claiming);
  const claims = new NameClaims();
  return named.flatMap(({ change, names }) => {
    const error = conflictError(names, conflicts.get(names.id)) ?? claims.claim(names);
    if (error === undefined) return change;
    results[change.index] = { error };
    return [];
  });
}

/** The names that a link has only after the change. */
const newNames = ({ old, row = old }: LockedChange): RequestedNames => ({
  id: row.id,
  domain_id: row.domain_id,
  folded: row.folded,
  alias: isMoved(old, row) || (forwardsPath(row) && !forwardsPath(old)) ? row.alias : null,
  forwards: forwardsPath(row),
  external_id: row.external_id === old.external_id ? null : row.external_id,
});

/** Whether a link is published under another short link than before. */
const isMoved = (old: LinkRow, row: LinkRow): boolean =>
  keyOf(shortLinkOf(row)) !== keyOf(shortLinkOf(old));

/** Writes the changes with their versions, and their outcomes into `results`. */
async function writeChanges(
  transaction: Transaction,
  changes: readonly LockedChange[],
  versions: readonly number[],
  results: LinkResult[],
): Promise<WrittenChange[]> {
  const written = changes.map(({ index, old, row: changed }, i) => {
    const version = versions[i];
    if (version === undefined) throw new Error("A change has no version.");
    const row = changed && { ...changed, version };
    results[index] = { link: row ?? old };
    return { old, row, version };
  });
  const updated = written.flatMap(({ row }) => row ?? []);
  const deleted = written.flatMap(({ old, row }) => (row === undefined ? old.id : []));
  if (updated.length > 0) await updateLinkRows(transaction, updated);
  if (deleted.length > 0) await deleteLinkRows(transaction, deleted);
  return written;
}

/** The records of a change. A short link that the link no longer has gets the same version. */
function recordsOf({ old, row, version }: WrittenChange): LinkRecord[] {
  const active = row?.served === true ? [toRecord(row)] : [];
  const isKept = row !== undefined && !isMoved(old, row);
  // Another account may own the domain of a link that is not served.
  if (isKept || !old.served) return active;
  return [...active, { state: "deleted", version, ...shortLinkOf(old) }];
}
