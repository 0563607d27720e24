/** Changing and deleting links. */
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import { notFound } from "../http/errors.ts";
import { futureInstant } from "../http/fields.ts";
import { isUniqueViolation, type Transaction } from "../postgres.ts";
import type { LinkRow, UpdateLinkBody } from "./model.ts";
import { domainOf, toRecord } from "./record.ts";
import {
  aliasTaken,
  hashLinkPassword,
  requireAlias,
  requireTarget,
  type TargetDeps,
} from "./rules.ts";
import type { LinkServiceDeps, Written } from "./service.ts";
import { deleteLink, insertOutbox, lockAliases, lockLink, type Owner, updateLink } from "./sql.ts";

export function createLinkChanger({ sql, feed, ...targetDeps }: LinkServiceDeps) {
  /**
   * Changes a link and tells the redirectors; what stays the same moves nothing. Throws `not_found`,
   * and what making a link throws.
   */
  async function update(
    owner: Owner,
    id: Uuid | undefined,
    body: UpdateLinkBody,
  ): Promise<Written> {
    const changes = await changesOf(body, targetDeps);
    const { link, told } = await inTransaction(owner, id, body.alias, async (transaction, old) => {
      const changed = { ...old, ...changes };
      if (Bun.deepEquals(changed, old)) return { link: old, told: [] };
      const before = { domain: domainOf(old), alias: old.alias };
      const after = { domain: domainOf(old), alias: changed.alias };
      const renamed = before.alias !== after.alias;
      await lockAliases(transaction, renamed ? [before, after] : [before]);
      const row = { ...changed, updated_at: new Date() };
      row.version = await updateLink(transaction, row);
      const records: LinkRecord[] = [{ ...toRecord(row), version: row.version }];
      // The old name is gone from the same moment on.
      if (renamed) records.push({ state: "deleted", version: row.version, ...before });
      return { link: row, told: await noteAll(transaction, records) };
    });
    return { link, propagated: await publishAll(told) };
  }

  /** Deletes a link for good, frees its alias and tells the redirectors; throws `not_found`. */
  async function remove(owner: Owner, id: Uuid | undefined): Promise<{ propagated: boolean }> {
    const told = await inTransaction(owner, id, undefined, async (transaction, old) => {
      const short = { domain: domainOf(old), alias: old.alias };
      await lockAliases(transaction, [short]);
      const version = await deleteLink(transaction, old.id);
      return await noteAll(transaction, [{ state: "deleted", version, ...short }]);
    });
    return { propagated: await publishAll(told) };
  }

  async function inTransaction<T>(
    owner: Owner,
    id: Uuid | undefined,
    alias: string | undefined,
    work: (transaction: Transaction, link: LinkRow) => Promise<T>,
  ): Promise<T> {
    const done = await sql
      .begin(async (transaction) => {
        const link = id === undefined ? undefined : await lockLink(transaction, owner, id);
        if (link === undefined) throw notFound("link");
        return { value: await work(transaction, link) };
      })
      .catch((error: unknown) => {
        if (!isUniqueViolation(error, "links_alias_key")) throw error;
        throw aliasTaken(alias ?? "");
      });
    return done.value;
  }

  async function publishAll(told: readonly Told[]): Promise<boolean> {
    const published = await Promise.all(
      told.map(({ record, outboxId }) => feed.publish(record, outboxId)),
    );
    return published.every(Boolean);
  }

  return { update, remove };
}

/** The columns that a change sets. */
async function changesOf(body: UpdateLinkBody, targetDeps: TargetDeps): Promise<Partial<LinkRow>> {
  const { url, alias, password, expires_at, ...rest } = body;
  const changes: Partial<LinkRow> = Object.fromEntries(
    Object.entries(rest).filter(([, value]) => value !== undefined),
  );
  if (url !== undefined) {
    const target = await requireTarget(url, targetDeps);
    changes.original_url = target.original;
    changes.target_url = target.href;
  }
  if (alias !== undefined) {
    requireAlias(alias);
    changes.alias = alias;
  }
  if (expires_at !== undefined) {
    changes.expires_at = futureInstant("expires_at", expires_at, new Date());
  }
  // Last, for it is the only costly one.
  if (password !== undefined) changes.password_hash = await hashLinkPassword(password);
  return changes;
}

/** A change that is in the outbox and on its way. */
type Told = { record: LinkRecord; outboxId: number };

async function noteAll(transaction: Transaction, records: readonly LinkRecord[]): Promise<Told[]> {
  const told: Told[] = [];
  for (const record of records)
    told.push({ record, outboxId: await insertOutbox(transaction, record) });
  return told;
}
