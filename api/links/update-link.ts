/** Updates a link. */
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import { futureInstant } from "../http/common-schemas.ts";
import type { AccountScope } from "../http/principal.ts";
import { isUniqueViolation } from "../postgres.ts";
import { changeLink } from "./change-link.ts";
import type { LinkServiceDeps, WriteResult } from "./deps.ts";
import type { LinkRow, UpdateLinkBody } from "./model.ts";
import { feedDomain, toRecord } from "./record.ts";
import { lockAliases, updateLinkRow } from "./sql.ts";
import { aliasTaken, hashLinkPassword, requireAlias, requireDestination } from "./validation.ts";

/**
 * Updates a link and publishes it to the redirectors; an update without effect writes nothing. Throws
 * `not_found`, and what creating a link throws.
 */
export async function updateLink(
  deps: LinkServiceDeps,
  owner: AccountScope,
  id: Uuid | undefined,
  body: UpdateLinkBody,
): Promise<WriteResult> {
  const changes = await prepareChanges(deps, owner, body);
  const { result, propagated } = await changeLink(deps, owner, id, async (transaction, old) => {
    const changed = { ...old, ...changes };
    if (Bun.deepEquals(changed, old)) return { result: old, records: [] };
    const oldName = { domain: feedDomain(old), alias: old.alias };
    const newName = { domain: feedDomain(old), alias: changed.alias };
    const renamed = oldName.alias !== newName.alias;
    await lockAliases(transaction, renamed ? [oldName, newName] : [oldName]);
    const row = { ...changed, updated_at: new Date() };
    row.version = await updateLinkRow(transaction, row);
    const records: LinkRecord[] = [{ ...toRecord(row), version: row.version }];
    // The old name stops redirecting under the same version.
    if (renamed) records.push({ state: "deleted", version: row.version, ...oldName });
    return { result: row, records };
  }).catch((error: unknown) => {
    throw isUniqueViolation(error, "links_alias_key") ? aliasTaken(body.alias ?? "") : error;
  });
  return { link: result, propagated };
}

/** Validates the body and returns the columns to change. */
async function prepareChanges(
  deps: LinkServiceDeps,
  { accountId }: AccountScope,
  body: UpdateLinkBody,
): Promise<Partial<LinkRow>> {
  const { url, alias, password, expires_at, ...rest } = body;
  const changes: Partial<LinkRow> = Object.fromEntries(
    Object.entries(rest).filter(([, value]) => value !== undefined),
  );
  if (url !== undefined) {
    const destination = await requireDestination(url, deps);
    changes.original_url = destination.original;
    changes.target_url = destination.href;
  }
  if (alias !== undefined) {
    requireAlias(alias);
    changes.alias = alias;
  }
  if (expires_at !== undefined) {
    changes.expires_at = futureInstant("expires_at", expires_at, new Date());
  }
  // Last, because hashing is the only costly step.
  if (password !== undefined) {
    changes.password_hash = await hashLinkPassword(deps.passwords, accountId, password);
  }
  return changes;
}
