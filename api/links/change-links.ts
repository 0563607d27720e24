/** Updates and deletes links, one or many, in one transaction. */
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import { keyOf } from "../../shared/contracts/short-link.ts";
import type { Uuid } from "../../shared/ids.ts";
import { recordEvents } from "../events/record.ts";
import { ApiError, unavailable } from "../http/errors.ts";
import type { RequireVersion } from "../http/etag.ts";
import type { AccountScope, Author, Writer } from "../http/principal.ts";
import { budgets } from "../limits/budgets.ts";
import { addToOutbox } from "../links-log/outbox.ts";
import { describeMissing } from "../owned-rows.ts";
import { isForeignKeyViolation, type Transaction } from "../postgres.ts";
import { lockAliasesAndDrawVersions } from "./alias-locks.ts";
import { chargePasswords, requireWriting } from "./charges.ts";
import type { ChangeDeps, LinkServiceDeps } from "./deps.ts";
import { shareLookups } from "./domain-lookups.ts";
import { changeEvent } from "./events.ts";
import type { LinkRow, ManyChangeBody } from "./model.ts";
import { conflictError, createNameClaims, isNameTaken, requestedNames } from "./names.ts";
import { applyChanges, prepareChanges } from "./prepare-link.ts";
import { shortLinkOf, sizeProblem, toRecord } from "./record.ts";
import {
  type Failure,
  isFailure,
  type LinkResult,
  type LinkResults,
  prepareAll,
  toFailure,
} from "./results.ts";
import { linkTakenDown } from "./validation.ts";
import { deleteLinkRows, findConflicts, lockLinks, updateLinkRows } from "./write-sql.ts";

/** A link that a request names. */
type Target = {
  /** undefined for a text that is no id: there is no such link. */
  id: Uuid | undefined;
  /** Throws when the request must not change this version. */
  requireVersion?: RequireVersion | undefined;
};

export type Update = Target & { body: ManyChangeBody };

/**
 * Updates links and publishes them to the redirectors; an update without effect writes nothing.
 * Each is checked against the state before the request: an alias or external id that another row
 * frees still counts as taken. A link fails with `not_found`, `link_taken_down` when it would be
 * renamed or moved, `precondition_failed`, and with what creating a link fails with. Throws
 * `rate_limited` when nothing is left of the account's budgets.
 */
export async function updateLinks(
  deps: LinkServiceDeps,
  owner: Writer,
  updates: readonly (Update | Failure)[],
): Promise<LinkResults> {
  requireWriting(owner);
  chargePasswords(owner, updates);
  const lookups = { ...deps, domains: shareLookups(deps.domains) };
  const changes = await prepareAll(updates, async ({ body, ...target }) => {
    const change = await prepareChanges(lookups, owner, body);
    return { ...target, apply: (link: LinkRow) => applyChanges(link, change) };
  });
  return await changeLinks(deps, owner, changes);
}

/**
 * Deletes links permanently, frees their aliases and publishes the deletions to the redirectors. A
 * link fails with `not_found`, `link_taken_down` and `precondition_failed`. Throws `rate_limited`.
 */
export async function deleteLinks(
  deps: ChangeDeps,
  owner: Writer,
  deletions: readonly (Target | Failure)[],
): Promise<LinkResults> {
  requireWriting(owner);
  return await changeLinks(
    deps,
    owner,
    deletions.map((target) => (isFailure(target) ? target : { ...target, apply: () => undefined })),
  );
}

/** A change of a link: `apply` returns the new state, or undefined to delete it. */
type Change = Target & { apply: (link: LinkRow) => LinkRow | undefined };

/** A change of a locked link, with its index in the request. */
type LockedChange = { index: number; old: LinkRow; row: LinkRow | undefined };

/** Maximum attempts while other requests take the names that the links are to have. */
const ATTEMPTS_MAX = 5;

async function changeLinks(
  { sql, publisher, destinationRules }: ChangeDeps,
  owner: Writer,
  changes: readonly (Change | Failure)[],
): Promise<LinkResults> {
  let failure: unknown;
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const results: LinkResult[] = [];
    try {
      const isPublic = await sql.begin(async (transaction) => {
        const locked = await lockChanges(transaction, owner, changes, results);
        const free = await writeChanges(transaction, owner, locked, results);
        budgets.spend(owner, "changed_links", free.length);
        return await recordChanges(transaction, owner, free, destinationRules.shortUrl.href);
      });
      return { results, propagated: !isPublic || (await publisher.publish()) };
    } catch (error) {
      if (isForeignKeyViolation(error))
        throw new ApiError("conflict", "The domain was removed meanwhile; nothing was changed.");
      // Another request has just taken an external id, which has no lock. The next attempt finds
      // it.
      if (!isNameTaken(error)) throw error;
      failure = error;
    }
  }
  throw unavailable(failure);
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
      const row = applyChange(change, old);
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
function applyChange({ requireVersion, apply }: Change, old: LinkRow): LinkRow | undefined {
  requireVersion?.(old.version);
  const row = apply(old);
  if (Bun.deepEquals(row, old)) return old;
  if (old.taken_down && (row === undefined || isRenamed(old, row))) throw linkTakenDown();
  const problem = row && sizeProblem(row);
  if (problem !== undefined) throw problem;
  return row;
}

/** Whether the short link is another one than before, also where only its case is. */
const isRenamed = (old: LinkRow, row: LinkRow): boolean =>
  row.alias !== old.alias || row.domain_id !== old.domain_id;

/** A change that was written: the new state has its version; undefined for a deleted link. */
type WrittenChange = { old: LinkRow; row: LinkRow | undefined; version: number };

/**
 * Writes the changes whose names are free, and returns them; writes all outcomes into `results`.
 */
async function writeChanges(
  transaction: Transaction,
  owner: AccountScope,
  changes: readonly LockedChange[],
  results: LinkResult[],
): Promise<WrittenChange[]> {
  if (changes.length === 0) return [];
  const names = changes.flatMap(({ old, row }) => [old, row ?? old].map(shortLinkOf));
  const versions = await lockAliasesAndDrawVersions(transaction, names, changes.length);
  const free = await dropTaken(transaction, owner, changes, results);
  const written = free.map(({ index, old, row: changed }, i) => {
    const version = versions[i] ?? 0;
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

/**
 * Adds the records of changes to the outbox, and their events to the ledger. Returns whether there
 * is anything to publish.
 */
async function recordChanges(
  transaction: Transaction,
  owner: Author,
  changes: readonly WrittenChange[],
  shortUrl: string,
): Promise<boolean> {
  const records = changes.flatMap(({ old, row, version }) => recordsOf(old, row, version));
  const events = changes.map(({ old, row }) => changeEvent(old, row, shortUrl));
  await Promise.all([addToOutbox(transaction, records), recordEvents(transaction, owner, events)]);
  return records.length > 0;
}

/** The records of a change. A short link that the link no longer has gets the same version. */
function recordsOf(old: LinkRow, row: LinkRow | undefined, version: number): LinkRecord[] {
  const active = row?.served === true ? [toRecord(row)] : [];
  const isKept = row !== undefined && !isMoved(old, row);
  // Another account may own the domain of a link that is not served.
  if (isKept || !old.served) return active;
  return [...active, { state: "deleted", version, ...shortLinkOf(old) }];
}

/** Whether a link is published under another short link than before. */
const isMoved = (old: LinkRow, row: LinkRow): boolean =>
  keyOf(shortLinkOf(row)) !== keyOf(shortLinkOf(old));

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
  const requested = changes.map(newNames);
  const claiming = requested.filter((names) => names.alias !== null || names.external_id !== null);
  if (claiming.length === 0) return changes;
  const conflicts = await findConflicts(transaction, owner, claiming);
  const claimNames = createNameClaims();
  return changes.filter((change, i) => {
    const names = requested[i] ?? newNames(change);
    const error = conflictError(names, conflicts.get(names.id)) ?? claimNames(names);
    if (error === undefined) return true;
    results[change.index] = { error };
    return false;
  });
}

/** The names that a link has only after the change. */
function newNames({ old, row = old }: LockedChange) {
  const external_id = row.external_id === old.external_id ? null : row.external_id;
  return requestedNames(row, isMoved(old, row) ? row.alias : null, external_id);
}
