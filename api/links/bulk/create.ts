/** Creates many links in one transaction, with a few statements for all of them. */
import { toMessage } from "../../../shared/contracts/link-record.ts";
import { createLinkBody } from "../../../shared/contracts/link-schemas.ts";
import type { Uuid } from "../../../shared/ids.ts";
import { type ApiError, unavailable } from "../../http/errors.ts";
import type { AccountScope } from "../../http/principal.ts";
import { validateValue } from "../../http/validation.ts";
import { type Consumption, quotaExceeded } from "../../limits/quotas.ts";
import { isForeignKeyViolation, type Transaction } from "../../postgres.ts";
import { COLLISIONS_MAX, generateAlias, lengthAfter } from "../alias.ts";
import { type PreparedLink, prepareLink } from "../create-link.ts";
import type { LinkServiceDeps } from "../deps.ts";
import type { CreateLinkBody, LinkRow } from "../model.ts";
import { nameOf, toRecord } from "../record.ts";
import { aliasTaken, externalIdTaken } from "../validation.ts";
import type { BulkResult, RowResult } from "./model.ts";
import { cacheLookups, prepareAll } from "./rows.ts";
import {
  consumeLinks,
  findExternalIds,
  findOwnedLinks,
  insertLinks,
  lockAliasesAndDrawVersions,
  type NewRow,
} from "./sql.ts";

/** A valid row, with its index in the request. */
export type Candidate = { index: number; link: PreparedLink; chosen: string | undefined };

/**
 * Creates the links of the valid rows. Of rows with the same alias or external id, the first wins.
 * Their ids derive from `firstId`, so a retry finds the same links. Each created link consumes one
 * from the daily quota. Links beyond the quota fail with `rate_limited`; if none is left, the whole
 * request fails.
 */
export async function createLinks(
  deps: LinkServiceDeps,
  owner: AccountScope,
  firstId: Uuid,
  rows: readonly unknown[],
): Promise<BulkResult> {
  const ids = rows.map((_, index) => nthId(firstId, index));
  // An earlier attempt of the same request may have committed them.
  const existing = await findOwnedLinks(deps.sql, owner, ids);
  const lookups = cacheLookups(deps);
  const prepared = await prepareAll(rows, async (row, index) => {
    const id = ids[index] ?? firstId;
    const known = existing.get(id);
    if (known !== undefined) return { known };
    const body: CreateLinkBody = validateValue(createLinkBody, row);
    return { link: await prepareLink(lookups, owner, id, body), chosen: body.alias ?? undefined };
  });
  const results: RowResult[] = [];
  const candidates: Candidate[] = [];
  const taken = new Set<string>();
  for (const [index, item] of prepared.entries()) {
    if ("error" in item) results[index] = item;
    else if ("known" in item) results[index] = { link: item.known };
    else {
      const error = findDuplicate(taken, item.link, item.chosen);
      if (error === undefined) candidates.push({ index, ...item });
      else results[index] = { error };
    }
  }
  const propagated = await commit(deps, owner, candidates, results);
  const quotaError = results.find(
    (result) => "error" in result && result.error.reason === "rate_limited",
  );
  if (
    quotaError !== undefined &&
    "error" in quotaError &&
    !results.some((result) => "link" in result)
  ) {
    throw quotaError.error;
  }
  return { results, propagated };
}

/** Records the names of a row; returns the error when an earlier row has one of them. */
export function findDuplicate(
  taken: Set<string>,
  link: PreparedLink,
  chosen: string | undefined,
): ApiError | undefined {
  const alias = chosen === undefined ? undefined : `alias ${nameOf({ ...link, alias: chosen })}`;
  const external = link.external_id === null ? undefined : `external ${link.external_id}`;
  if (alias !== undefined && taken.has(alias)) return aliasTaken(chosen ?? "");
  if (external !== undefined && taken.has(external)) return externalIdTaken();
  for (const name of [alias, external]) if (name !== undefined) taken.add(name);
  return undefined;
}

/** Inserts the candidates and publishes them; writes each outcome into `results`. */
async function commit(
  { sql, feed }: LinkServiceDeps,
  owner: AccountScope,
  candidates: readonly Candidate[],
  results: RowResult[],
): Promise<boolean> {
  if (candidates.length === 0) return true;
  const entries = await sql
    .begin((transaction) => insertAll(transaction, owner, candidates, results))
    .catch((error: unknown) => {
      // A domain was removed after it was resolved: a retry reports that.
      throw isForeignKeyViolation(error) ? unavailable(error) : error;
    });
  return await feed.publishMany(entries, "absent");
}

async function insertAll(
  transaction: Transaction,
  owner: AccountScope,
  candidates: readonly Candidate[],
  results: RowResult[],
) {
  const entries: { message: NewRow["message"]; outboxId: number }[] = [];
  let waiting = [...candidates];
  let quota: QuotaGrant | undefined;
  for (let attempt = 0; attempt < COLLISIONS_MAX && waiting.length > 0; attempt++) {
    const named = waiting.map((candidate) => ({
      ...candidate,
      alias: candidate.chosen ?? generateAlias(lengthAfter(attempt, candidate.link)),
    }));
    const names = named.map(({ link, alias }) => nameOf({ ...link, alias }));
    const versions = await lockAliasesAndDrawVersions(transaction, names, named.length);
    quota ??= await consumeUpTo(transaction, owner, named.length);
    const news = named.map((item, i) => ({
      ...item,
      ...toNewRow(item, item.alias, versions[i] ?? 0),
    }));
    const within = news.slice(0, quota.left);
    const inserted = await insertLinks(transaction, within);
    quota.left -= inserted.size;
    const failed = within.filter(({ row, message, index }) => {
      const outboxId = inserted.get(row.id);
      if (outboxId === undefined) return true;
      results[index] = { link: row };
      entries.push({ message, outboxId });
      return false;
    });
    const retried = await reportFailed(transaction, owner, failed, results);
    // Rows that failed leave their quota to later rows.
    waiting = [...retried, ...news.slice(within.length)];
    if (quota.left === 0) break;
  }
  if (quota === undefined) return entries;
  if (quota.left > 0) {
    if (waiting.length > 0) throw new Error(`No free alias after ${COLLISIONS_MAX} tries.`);
    await consumeLinks(transaction, owner, -quota.left);
  }
  for (const { index } of waiting) {
    results[index] = { error: quotaExceeded("links_per_day", quota.state) };
  }
  return entries;
}

type QuotaGrant = { left: number; state: Consumption };

/** Consumes at most `requested` from the quota, as far as it lasts. */
async function consumeUpTo(
  transaction: Transaction,
  owner: AccountScope,
  requested: number,
): Promise<QuotaGrant> {
  const state = await consumeLinks(transaction, owner, requested);
  if (state.granted) return { left: requested, state };
  const left = Math.max(0, state.allowed - state.used);
  if (left > 0) await consumeLinks(transaction, owner, left);
  return { left, state };
}

/**
 * Records why links were not inserted; returns those whose generated alias was taken, which can be
 * retried.
 */
async function reportFailed<Failed extends Candidate>(
  transaction: Transaction,
  owner: AccountScope,
  failed: readonly Failed[],
  results: RowResult[],
): Promise<Failed[]> {
  if (failed.length === 0) return [];
  const externalIds = failed.flatMap(({ link }) => link.external_id ?? []);
  const known = await findExternalIds(transaction, owner, externalIds);
  return failed.filter(({ index, link, chosen }) => {
    const isKnown = link.external_id !== null && known.has(link.external_id);
    if (!isKnown && chosen === undefined) return true;
    results[index] = { error: isKnown ? externalIdTaken() : aliasTaken(chosen ?? "") };
    return false;
  });
}

function toNewRow({ link }: Candidate, alias: string, version: number): NewRow {
  const row: LinkRow = {
    ...link,
    alias,
    version,
    updated_at: link.created_at,
    clicks: 0,
    unique_clicks: 0,
  };
  return { row, message: { ...toMessage(toRecord(row)), version } };
}

/** The `n`th id after `first`: adds `n` to its last 48 bits, which are random. */
export function nthId(first: Uuid, n: number): Uuid {
  const last = (BigInt(`0x${first.slice(-12)}`) + BigInt(n)) & 0xffff_ffff_ffffn;
  return first.slice(0, -12) + last.toString(16).padStart(12, "0");
}
