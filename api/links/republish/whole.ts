/**
 * Publishes the links of a domain that an account has verified again, and withdraws those of a
 * domain that it has lost. The new account may have links under the same aliases.
 */
import type { LinkRecord } from "../../../shared/contracts/link-record.ts";
import type { Uuid } from "../../../shared/ids.ts";
import { addToOutbox } from "../../links-log/outbox.ts";
import type { Transaction } from "../../postgres.ts";
import type { LinkRow } from "../model.ts";
import { recordDomain, toRecord } from "../record.ts";
import { BATCH, publishBatches, type PublishingDeps, renewVersions } from "./batches.ts";
import { findServedAliases, lockLinks } from "./sql.ts";

/**
 * Publishes or withdraws all links of a domain; false when stopped or when the tail was
 * unreachable.
 */
export const republishLinks = (
  deps: PublishingDeps,
  domainId: Uuid,
  verified: boolean,
  isStopped: () => boolean,
): Promise<boolean> =>
  publishBatches(deps, isStopped, async (transaction, after) => {
    const links = await lockLinks(transaction, domainId, { after, limit: BATCH, only: "any" });
    // The domain has changed hands meanwhile: the job starts again with the current state.
    if (links.some(({ served }) => served !== verified)) return [];
    const rows = await renewVersions(transaction, links);
    const records = verified ? rows.map(toRecord) : await toWithdrawals(transaction, rows);
    await addToOutbox(transaction, records);
    return links;
  });

/**
 * The deletions of links, except of aliases that the domain's current account has. Compares both
 * cases of an alias, because the domain may have been switching when it was lost.
 */
async function toWithdrawals(
  transaction: Transaction,
  rows: readonly LinkRow[],
): Promise<LinkRecord[]> {
  const names = rows.flatMap((row) => {
    const aliases = new Set([row.alias, row.alias.toLowerCase()]);
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
    .map((name): LinkRecord => ({ state: "deleted", ...name, former: true }));
}
