/** Updates and deletes many links in one transaction, with a few statements for all of them. */
import type { LinkRecord } from "../../../shared/contracts/link-record.ts";
import { decodeId, type Uuid } from "../../../shared/ids.ts";
import { invalidField, notFound, unavailable } from "../../http/errors.ts";
import type { AccountScope } from "../../http/principal.ts";
import { validateValue } from "../../http/validation.ts";
import { isUniqueViolation, type Transaction } from "../../postgres.ts";
import type { LinkServiceDeps } from "../deps.ts";
import type { LinkRow } from "../model.ts";
import { feedAlias, nameOf, shortLinkOf, sizeProblem, toRecord } from "../record.ts";
import { applyChanges, type LinkChanges, prepareChanges } from "../update-link.ts";
import { aliasTaken, externalIdTaken, linkTakenDown } from "../validation.ts";
import { enqueue } from "./enqueue.ts";
import { type BulkChange, bulkChange, type BulkResult, type RowResult } from "./model.ts";
import { cacheLookups, prepareAll } from "./rows.ts";
import {
  deleteLinkRows,
  findAliases,
  findExternalIds,
  findOwnedLinks,
  lockAliasesAndDrawVersions,
  lockLinks,
  updateLinkRows,
} from "./sql.ts";

type Change = { index: number; id: Uuid; changes: LinkChanges };

/** A change of a locked link. */
type RowChange = { index: number; old: LinkRow; row: LinkRow };

/**
 * Updates the links of the valid rows. Each row is checked against the state before the request: an
 * alias or external id that another row frees still counts as taken. Of several updates of one link
 * the first wins.
 */
export async function updateLinks(
  { sql, feed, ...deps }: LinkServiceDeps,
  owner: AccountScope,
  rows: readonly unknown[],
): Promise<BulkResult> {
  const lookups = cacheLookups({ sql, feed, ...deps });
  const ids = new Set<Uuid>();
  const prepared = await prepareAll(rows, async (row) => {
    const { id: text, ...body }: BulkChange = validateValue(bulkChange, row);
    const id = requireOnce(ids, text);
    return { id, changes: await prepareChanges(lookups, owner, body) };
  });
  const results: RowResult[] = [];
  const changes: Change[] = [];
  for (const [index, item] of prepared.entries()) {
    if ("error" in item) results[index] = item;
    else changes.push({ index, ...item });
  }
  const entries = await sql
    .begin(async (transaction) => {
      const changed = await prepareRowChanges(transaction, owner, changes, results);
      return await writeChanges(transaction, changed, results);
    })
    .catch((error: unknown) => {
      // Another request has just taken the external id: a retry reports that.
      throw isUniqueViolation(error, "links_external_id_key") ? unavailable(error) : error;
    });
  return { results, propagated: await feed.publishMany(entries) };
}

/** Decodes an id; throws `not_found`, and `invalid_request` when an earlier row has the same id. */
function requireOnce(ids: Set<Uuid>, text: string): Uuid {
  const id = decodeId("link", text);
  if (id === undefined) throw notFound("link");
  if (ids.has(id)) throw invalidField("id", "must not name a link twice");
  ids.add(id);
  return id;
}

/**
 * Locks the links. Returns the allowed changes that have an effect; writes the other outcomes into
 * `results`.
 */
async function prepareRowChanges(
  transaction: Transaction,
  owner: AccountScope,
  changes: readonly Change[],
  results: RowResult[],
): Promise<RowChange[]> {
  const ids = changes.map(({ id }) => id);
  await lockLinks(transaction, owner, ids);
  const links = await findOwnedLinks(transaction, owner, ids);
  const updated_at = new Date();
  const changed: RowChange[] = [];
  for (const { index, id, changes: change } of changes) {
    const old = links.get(id);
    if (old === undefined) {
      results[index] = { error: notFound("link") };
      continue;
    }
    const row = applyChanges(old, change);
    const error = old.taken_down && row.alias !== old.alias ? linkTakenDown() : sizeProblem(row);
    if (error !== undefined) results[index] = { error };
    else if (Bun.deepEquals(row, old)) results[index] = { link: old };
    else changed.push({ index, old, row: { ...row, updated_at } });
  }
  return changed;
}

async function writeChanges(
  transaction: Transaction,
  changed: readonly RowChange[],
  results: RowResult[],
) {
  if (changed.length === 0) return [];
  const names = changed.flatMap(({ old, row }) => [nameOf(old), nameOf(row)]);
  const versions = await lockAliasesAndDrawVersions(transaction, names, changed.length);
  const free = await dropTaken(transaction, changed, results);
  const rows = free.map(({ index, old, row }, i) => {
    row.version = versions[i] ?? 0;
    results[index] = { link: row };
    return { old, row };
  });
  if (rows.length === 0) return [];
  await updateLinkRows(
    transaction,
    rows.map(({ row }) => row),
  );
  const records = rows
    .filter(({ row }) => row.served)
    .flatMap(({ old, row }): LinkRecord[] => [
      { ...toRecord(row), version: row.version },
      // The old name stops redirecting under the same version.
      ...(feedAlias(old) === feedAlias(row) ? [] : [toDeletion(old, row.version)]),
    ]);
  return await enqueue(transaction, records);
}

/** Removes changes to an alias or external id that another link has; their names are locked. */
async function dropTaken(
  transaction: Transaction,
  changed: readonly RowChange[],
  results: RowResult[],
): Promise<RowChange[]> {
  const renamed = changed
    .filter(({ old, row }) => feedAlias(old) !== feedAlias(row))
    .map(({ row }) => row);
  const aliases =
    renamed.length === 0 ? new Set<string>() : await findAliases(transaction, renamed);
  const [first] = changed;
  const newExternalIds = changed.flatMap(({ old, row }) =>
    row.external_id === null || row.external_id === old.external_id ? [] : row.external_id,
  );
  const externalIds =
    first === undefined || newExternalIds.length === 0
      ? new Set<string>()
      : new Set(
          (
            await findExternalIds(
              transaction,
              { accountId: first.old.account_id, mode: first.old.mode },
              newExternalIds,
            )
          ).keys(),
        );
  return changed.filter(({ index, old, row }) => {
    const alias = `${row.domain_id ?? ""}/${feedAlias(row)}`;
    if (feedAlias(old) !== feedAlias(row)) {
      if (aliases.has(alias)) {
        results[index] = { error: aliasTaken(row.alias) };
        return false;
      }
      aliases.add(alias);
    }
    if (row.external_id !== null && row.external_id !== old.external_id) {
      if (externalIds.has(row.external_id)) {
        results[index] = { error: externalIdTaken() };
        return false;
      }
      externalIds.add(row.external_id);
    }
    return true;
  });
}

/** Deletes the links; each id succeeds or fails separately. */
export async function deleteLinks(
  { sql, feed }: Pick<LinkServiceDeps, "sql" | "feed">,
  owner: AccountScope,
  texts: readonly string[],
): Promise<BulkResult> {
  const seen = new Set<Uuid>();
  const prepared = await prepareAll(texts, async (text) => ({ id: requireOnce(seen, text) }));
  const results: RowResult[] = [];
  const entries = await sql.begin(async (transaction) => {
    const ids = [...seen];
    await lockLinks(transaction, owner, ids);
    const links = await findOwnedLinks(transaction, owner, ids);
    for (const [index, item] of prepared.entries()) {
      const link = "id" in item ? links.get(item.id) : undefined;
      if (link?.taken_down === true) results[index] = { error: linkTakenDown() };
      else if (link !== undefined) results[index] = { link };
      else results[index] = "error" in item ? item : { error: notFound("link") };
    }
    const rows = [...links.values()].filter(({ taken_down }) => !taken_down);
    if (rows.length === 0) return [];
    const versions = await lockAliasesAndDrawVersions(transaction, rows.map(nameOf), rows.length);
    await deleteLinkRows(
      transaction,
      rows.map(({ id }) => id),
    );
    return await enqueue(
      transaction,
      rows.flatMap((row, i) => (row.served ? [toDeletion(row, versions[i] ?? 0)] : [])),
    );
  });
  return { results, propagated: await feed.publishMany(entries) };
}

const toDeletion = (row: LinkRow, version: number): LinkRecord => ({
  state: "deleted",
  version,
  ...shortLinkOf(row),
});
