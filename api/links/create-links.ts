/** Creates links, one or many, with one statement. */
import { toMessage } from "../../shared/contracts/link-record.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { ApiError } from "../http/errors.ts";
import type { AccountScope, Author, Writer } from "../http/principal.ts";
import { budgets } from "../limits/budgets.ts";
import { type Consumption, quotaExceeded } from "../limits/quotas.ts";
import { isForeignKeyViolation } from "../postgres.ts";
import { COLLISIONS_MAX, generateAlias, lengthAfter } from "./alias.ts";
import { chargePasswords, requireWriting } from "./charges.ts";
import type { LinkServiceDeps } from "./deps.ts";
import { shareLookups } from "./domain-lookups.ts";
import { linkData } from "./events.ts";
import type { CreateLinkBody } from "./model.ts";
import { conflictError, createNameClaims, isNameTaken, requestedNames } from "./names.ts";
import { type PreparedLink, prepareLink, resolveDomain } from "./prepare-link.ts";
import { shortLinkOf, toRecordDraft } from "./record.ts";
import {
  type Failure,
  isFailure,
  type LinkResult,
  type LinkResults,
  prepareAll,
} from "./results.ts";
import { findConflicts, findOwnedLinks, type Insertion, insertLinks } from "./write-sql.ts";

/** A link to create. The caller chooses the id, so that a retry of the request finds the link. */
export type Creation = { id: Uuid; body: CreateLinkBody };

/** A valid creation, with its index in the request. */
type Candidate = { index: number; body: CreateLinkBody; link: PreparedLink };

/**
 * A candidate with the alias that is tried for it, which is generated unless the client chose one.
 */
type Named = Candidate & { alias: string };

/**
 * Creates links and publishes them to the redirectors. Of those with the same alias or external id,
 * the first wins. A link fails with `invalid_url`, `invalid_alias`, `alias_taken`,
 * `external_id_taken` or `invalid_request`. Each created link consumes one of the daily quota;
 * those beyond it fail with `rate_limited`, and if none was created, the request does. So does a
 * request when nothing is left of the account's budgets.
 */
export async function createLinks(
  deps: LinkServiceDeps,
  owner: Writer,
  creations: readonly (Creation | Failure)[],
): Promise<LinkResults> {
  requireWriting(owner);
  chargePasswords(owner, creations);
  const results: LinkResult[] = [];
  const candidates = await prepareCandidates(deps, owner, creations, results);
  let failure: unknown;
  const inserted = await insertCandidates(deps, owner, candidates, results).catch(
    (error: unknown): number => {
      failure = error;
      return 0;
    },
  );
  const failed = candidates.filter(({ index }) => !isCreated(results[index]));
  // An earlier attempt of the same request may have committed them.
  const earlier =
    failed.length === 0
      ? undefined
      : await findOwnedLinks(
          deps.sql,
          owner,
          failed.map(({ link }) => link.id),
        );
  for (const { index, link } of failed) {
    const known = earlier?.get(link.id);
    if (known !== undefined) results[index] = { link: known };
    else if (failure !== undefined) throw failure;
  }
  requireQuota(results);
  const propagated = inserted === 0 || (await deps.publisher.publish());
  // Whether they were published is not known.
  return { results, propagated: propagated && (earlier === undefined || earlier.size === 0) };
}

const isCreated = (result: LinkResult | undefined): boolean =>
  result !== undefined && !isFailure(result);

/** Throws the error of an exhausted quota if it left no link. */
function requireQuota(results: readonly LinkResult[]): void {
  if (results.some(isCreated)) return;
  const errors = results.flatMap((result) => (isFailure(result) ? result.error : []));
  const exceeded = errors.find(({ reason }) => reason === "rate_limited");
  if (exceeded !== undefined) throw exceeded;
}

/** Validates the creations; writes the errors into `results`. */
export async function prepareCandidates(
  deps: LinkServiceDeps,
  owner: Author,
  creations: readonly (Creation | Failure)[],
  results: LinkResult[],
): Promise<Candidate[]> {
  const lookups = { ...deps, domains: shareLookups(deps.domains) };
  const prepared = await prepareAll(creations, async ({ id, body }) => ({
    body,
    link: await prepareLink(lookups, owner, id, body),
  }));
  const claimNames = createNameClaims();
  const candidates: Candidate[] = [];
  for (const [index, item] of prepared.entries()) {
    const error = isFailure(item) ? item.error : claimNames(namesOf(item));
    if (error !== undefined) results[index] = { error };
    else if (!isFailure(item)) candidates.push({ index, ...item });
  }
  return candidates;
}

/** The names that a candidate chooses. */
export const namesOf = (
  { link, body }: Pick<Candidate, "link" | "body">,
  alias = body.alias ?? null,
) => requestedNames(link, alias, link.external_id);

/**
 * Inserts the candidates, as many as the quota allows, and writes their outcomes into `results`.
 * All are inserted at once or none: after a conflict, without those that conflict. Returns how many
 * were.
 */
async function insertCandidates(
  { sql, domains, destinationRules }: Pick<LinkServiceDeps, "sql" | "domains" | "destinationRules">,
  owner: Writer,
  candidates: readonly Candidate[],
  results: LinkResult[],
): Promise<number> {
  let waiting = candidates;
  let exhausted: Consumption | undefined;
  for (let attempt = 0; attempt < COLLISIONS_MAX; attempt++) {
    const left = exhausted === undefined ? Infinity : remainingOf(exhausted);
    const [within, beyond] = [waiting.slice(0, left), waiting.slice(left)];
    if (within.length === 0) {
      rejectBeyond(beyond, exhausted, results);
      return 0;
    }
    const named = within.map((candidate) => toNamed(candidate, attempt));
    try {
      const insertions = named.map((link) => toInsertion(link, destinationRules.shortUrl.href));
      const { consumption, ledgerBytes, links } = await insertLinks(sql, owner, insertions);
      if (links !== undefined) {
        budgets.spend(owner, "changed_links", links.size);
        budgets.spend(owner, "ledger_bytes", ledgerBytes);
        rejectBeyond(beyond, exhausted, results);
        for (const [i, { row }] of insertions.entries())
          results[named[i]?.index ?? 0] = {
            link: { ...row, version: links.get(row.id) ?? 0, ...NO_CLICKS },
          };
        return insertions.length;
      }
      exhausted = consumption;
    } catch (error) {
      const free = await dropConflicting({ sql, domains }, owner, named, error, results);
      // Rows that failed leave their quota to later rows.
      waiting = [...free, ...beyond];
    }
  }
  throw new Error(`No free alias after ${COLLISIONS_MAX} tries.`);
}

const remainingOf = ({ allowed, used }: Consumption): number => Math.max(0, allowed - used);

const toNamed = (candidate: Candidate, attempt: number): Named => ({
  ...candidate,
  alias: candidate.body.alias ?? generateAlias(lengthAfter(attempt, candidate.link)),
});

function toInsertion({ link, alias }: Named, shortUrl: string): Insertion {
  const row = { ...link, alias, updated_at: link.created_at };
  const event = { id: newUuid(), data: linkData({ ...row, version: 0, ...NO_CLICKS }, shortUrl) };
  const state = JSON.stringify(toMessage(toRecordDraft(row)));
  return { row, ...shortLinkOf(row), state, event };
}

/** The counters of a new link. */
const NO_CLICKS = { clicks: 0, unique_clicks: 0, last_click_at: null };

function rejectBeyond(
  candidates: readonly Candidate[],
  exhausted: Consumption | undefined,
  results: LinkResult[],
): void {
  if (exhausted === undefined) return;
  for (const { index } of candidates)
    results[index] = { error: quotaExceeded("links_per_day", exhausted) };
}

/**
 * After a failed insert: returns the candidates that can be inserted, and writes the errors of the
 * others into `results`. Rethrows an error that no candidate explains.
 */
async function dropConflicting(
  deps: Pick<LinkServiceDeps, "sql" | "domains">,
  owner: AccountScope,
  named: readonly Named[],
  error: unknown,
  results: LinkResult[],
): Promise<Candidate[]> {
  const checked = isNameTaken(error)
    ? await checkNames(deps, owner, named)
    : await checkDomains(deps, owner, named, error);
  return checked.flatMap((item, i) => {
    if (!isFailure(item)) return item;
    results[named[i]?.index ?? 0] = item;
    return [];
  });
}

/** Finds the candidates that chose a name of another link. */
async function checkNames(
  { sql }: Pick<LinkServiceDeps, "sql">,
  owner: AccountScope,
  named: readonly Named[],
): Promise<(Candidate | Failure)[]> {
  const names = named.map((candidate) => namesOf(candidate, candidate.alias));
  const conflicts = await findConflicts(sql, owner, names);
  return named.map((candidate) => {
    const conflict = conflicts.get(candidate.link.id);
    const error =
      conflict?.id_taken === true
        ? new ApiError("conflict", "The link has been created already.")
        : conflictError(namesOf(candidate), conflict);
    return error === undefined ? candidate : { error };
  });
}

/**
 * Finds the candidates whose domain was removed after it was resolved; rethrows any other error.
 */
async function checkDomains(
  { domains }: Pick<LinkServiceDeps, "domains">,
  owner: AccountScope,
  named: readonly Named[],
  error: unknown,
): Promise<(Candidate | Failure)[]> {
  if (!isForeignKeyViolation(error)) throw error;
  const checked = await prepareAll(named, async (candidate) => {
    await resolveDomain(domains, owner, candidate.body.domain);
    return candidate;
  });
  if (!checked.some(isFailure)) throw error;
  return checked;
}
