/** Updates a link. */
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import { checkAll } from "../http/check-all.ts";
import { futureInstant } from "../http/common-schemas.ts";
import type { RequireVersion } from "../http/etag.ts";
import type { AccountScope } from "../http/principal.ts";
import { changeLink } from "./change-link.ts";
import type { LinkServiceDeps, WriteResult } from "./deps.ts";
import type { LinkRow, UpdateLinkBody } from "./model.ts";
import { shortLinkOf, toRecord } from "./record.ts";
import {
  changeSettings,
  prepareSettings,
  type SettingsChange,
  withoutSettings,
} from "./settings/change.ts";
import { sitesOf } from "./sites.ts";
import { lockAliases, updateLinkRow } from "./sql.ts";
import {
  hashLinkPassword,
  requireAlias,
  requireDestination,
  requireNotTakenDown,
  toTaken,
} from "./validation.ts";

/**
 * Updates a link and publishes it to the redirectors; an update without effect writes nothing. Throws
 * `not_found`, and what creating a link throws.
 */
export async function updateLink(
  deps: LinkServiceDeps,
  owner: AccountScope,
  id: Uuid | undefined,
  body: UpdateLinkBody,
  requireVersion?: RequireVersion,
): Promise<WriteResult> {
  const changes = await prepareChanges(deps, owner, body);
  const { result, propagated } = await changeLink(
    deps,
    owner,
    id,
    async (transaction, old) => {
      const changed = applyChanges(old, changes);
      if (Bun.deepEquals(changed, old)) return { result: old, records: [] };
      if (changed.alias !== old.alias) requireNotTakenDown(old);
      const oldName = shortLinkOf(old);
      const newName = shortLinkOf(changed);
      const renamed = oldName.alias !== newName.alias;
      await lockAliases(transaction, renamed ? [oldName, newName] : [oldName]);
      const row = { ...changed, updated_at: new Date() };
      row.version = await updateLinkRow(transaction, row);
      const records: LinkRecord[] = [{ ...toRecord(row), version: row.version }];
      // The old name stops redirecting under the same version.
      if (renamed) records.push({ state: "deleted", version: row.version, ...oldName });
      return { result: row, records };
    },
    requireVersion,
  ).catch((error: unknown) => {
    throw toTaken(error, body.alias);
  });
  return { link: result, propagated };
}

/**
 * A validated change of a link: columns to set, and settings, which are merged with its current
 * ones.
 */
export type LinkChanges = { columns: Partial<LinkRow>; settings: SettingsChange };

/**
 * The link after a change. Records when the change sends a visitor to a different site, which the
 * link's about page shows.
 */
export function applyChanges(old: LinkRow, { columns, settings }: LinkChanges): LinkRow {
  const extras = changeSettings(old.extras, settings, old.clicks);
  const changed: LinkRow = { ...old, ...columns, extras };
  return Bun.deepEquals(sitesOf(changed), sitesOf(old))
    ? changed
    : { ...changed, extras: { ...extras, host_changed_at: new Date().toISOString() } };
}

/** Validates the body and returns the changes. */
export async function prepareChanges(
  deps: LinkServiceDeps,
  { accountId }: AccountScope,
  body: UpdateLinkBody,
): Promise<LinkChanges> {
  const { url, alias, password, expires_at, ...rest } = withoutSettings(body);
  const [settings, destination, , expires] = await checkAll([
    () => prepareSettings(deps, body),
    () => (url === undefined ? undefined : requireDestination(url, deps)),
    () => (alias === undefined ? undefined : requireAlias(alias)),
    () => futureInstant("expires_at", expires_at, new Date()),
  ]);
  const columns: Partial<LinkRow> = Object.fromEntries(
    Object.entries(rest).filter(([, value]) => value !== undefined),
  );
  if (destination !== undefined) {
    columns.original_url = destination.original;
    columns.target_url = destination.href;
  }
  if (alias !== undefined) columns.alias = alias;
  if (expires_at !== undefined) columns.expires_at = expires;
  // Last, because hashing is the only costly step.
  if (password !== undefined) {
    columns.password_hash = await hashLinkPassword(deps.passwords, accountId, password);
  }
  return { columns, settings };
}
