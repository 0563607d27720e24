/** Finds out which of many links could be created, without creating any. */
import { createLinkBody } from "../../../shared/contracts/link-schemas.ts";
import { newUuid } from "../../../shared/ids.ts";
import type { ApiError } from "../../http/errors.ts";
import type { AccountScope } from "../../http/principal.ts";
import { validateValue } from "../../http/validation.ts";
import type { Sql } from "../../postgres.ts";
import { prepareLink } from "../create-link.ts";
import type { LinkServiceDeps } from "../deps.ts";
import type { LinkRow } from "../model.ts";
import { feedAlias } from "../record.ts";
import { aliasTaken, externalIdTaken } from "../validation.ts";
import { type Candidate, findDuplicate } from "./create.ts";
import { cacheLookups, prepareAll } from "./rows.ts";
import { findAliases, findExternalIds } from "./sql.ts";

/** Hashing costs most of a link's creation, and its result would be thrown away. */
const WITHOUT_HASHING = { hashForLink: () => Promise.resolve("") };

/**
 * Returns why each row could not be created, in their order; undefined for those that could. Judges
 * rows as a creation does, except by the quota of links.
 */
export async function checkLinks(
  deps: LinkServiceDeps,
  owner: AccountScope,
  rows: readonly unknown[],
): Promise<(ApiError | undefined)[]> {
  const lookups = { ...cacheLookups(deps), passwords: WITHOUT_HASHING };
  const prepared = await prepareAll(rows, async (row, index): Promise<Candidate> => {
    const body = validateValue(createLinkBody, row);
    const link = await prepareLink(lookups, owner, newUuid(), body);
    return { index, link, chosen: body.alias ?? undefined };
  });
  const taken = new Set<string>();
  const errors = prepared.map((item) =>
    "error" in item ? item.error : findDuplicate(taken, item.link, item.chosen),
  );
  const candidates = prepared.flatMap((item, index) =>
    "error" in item || errors[index] !== undefined ? [] : [item],
  );
  const findTaken = await readTaken(deps.sql, owner, candidates);
  for (const candidate of candidates) errors[candidate.index] = findTaken(candidate);
  return errors;
}

/** Reads which aliases and external ids of the candidates are in use. */
async function readTaken(
  sql: Sql,
  owner: AccountScope,
  candidates: readonly Candidate[],
): Promise<(candidate: Candidate) => ApiError | undefined> {
  const named = candidates.flatMap(({ link, chosen }) =>
    chosen === undefined ? [] : [{ ...link, alias: chosen }],
  );
  const externalIds = candidates.flatMap(({ link }) => link.external_id ?? []);
  const [aliases, external] = await Promise.all([
    named.length === 0 ? new Set<string>() : findAliases(sql, named),
    externalIds.length === 0 ? new Map<string, string>() : findExternalIds(sql, owner, externalIds),
  ]);
  return ({ link, chosen }) => {
    if (link.external_id !== null && external.has(link.external_id)) return externalIdTaken();
    if (chosen === undefined || !aliases.has(existingName({ ...link, alias: chosen })))
      return undefined;
    return aliasTaken(chosen);
  };
}

/** A short link as `findAliases` names it. */
const existingName = (link: Pick<LinkRow, "domain_id" | "alias" | "folded">): string =>
  `${link.domain_id ?? ""}/${feedAlias(link)}`;
