/** Creates links, one or many, with one statement for all that come at once. */
import { newUuid } from "../../shared/ids.ts";
import { actorJson } from "../events/record.ts";
import { ApiError } from "../http/errors.ts";
import type { AccountScope, Author, Writer } from "../http/principal.ts";
import { type Consumption, quotaExceeded } from "../limits/quotas.ts";
import type { LinksPublisher } from "../links-log/publisher.ts";
import { isForeignKeyViolation, type Sql } from "../postgres.ts";
import { linkData } from "./events.ts";
import { LinkInsertions } from "./insertions.ts";
import {
  COLLISIONS_MAX,
  conflictError,
  generateAlias,
  isNameTaken,
  lengthAfter,
  NameClaims,
} from "./names.ts";
import type { LinkPreparation, PreparedCreation } from "./prepare-link.ts";
import { shortLinkOf, toRecordDraft } from "./record.ts";
import {
  chargePasswords,
  type Creation,
  type Failure,
  isFailure,
  type LinkResult,
  type LinkResults,
  prepareAll,
  requireWriting,
} from "./results.ts";
import { forwardsPath } from "./settings.ts";
import { findConflicts, findOwnedLinks, type Insertion, type RequestedNames } from "./sql.ts";

/** A valid creation, with its index in the request. */
type Candidate = PreparedCreation & { index: number };

/**
 * A candidate with the alias that is tried for it, which is generated unless the client chose one.
 */
type Named = Candidate & { alias: string };

/** Creates links, and publishes them to the redirectors. */
export class LinkCreations {
  readonly #sql: Sql;
  readonly #insertions: LinkInsertions;
  readonly #publisher: LinksPublisher;
  readonly #preparation: LinkPreparation;
  readonly #shortUrl: string;

  /** `shortUrl` is the origin of short links. */
  constructor(sql: Sql, publisher: LinksPublisher, preparation: LinkPreparation, shortUrl: string) {
    this.#sql = sql;
    this.#insertions = new LinkInsertions(sql);
    this.#publisher = publisher;
    this.#preparation = preparation;
    this.#shortUrl = shortUrl;
  }

  /**
   * Creates links. Of those with the same alias or external id, the first wins. A link fails with
   * `invalid_url`, `invalid_alias`, `alias_taken`, `external_id_taken` or `invalid_request`. Each
   * created link consumes one of the daily quota; those beyond it fail with `rate_limited`, and if
   * none was created, the request does. So does a request when nothing is left of the account's
   * budgets.
   */
  async create(owner: Writer, creations: readonly (Creation | Failure)[]): Promise<LinkResults> {
    requireWriting(owner);
    chargePasswords(owner, creations);
    const results: LinkResult[] = [];
    const prepared = await this.#preparation.prepareLinks(owner, creations, "created");
    const candidates = claimNames(prepared, results);
    let failure: unknown;
    const inserted = await this.#insert(owner, candidates, results).catch((error: unknown) => {
      failure = error;
      return 0;
    });
    const isRepeated = await this.#findEarlier(owner, candidates, results, failure);
    requireQuota(results);
    const propagated = inserted === 0 || (await this.#publisher.publish());
    // Whether those of an earlier attempt were published is not known.
    return { results, propagated: propagated && !isRepeated };
  }

  /**
   * Returns why each link could not be created, in their order; undefined for those that could.
   * Creates none, and does not count the quota of links.
   */
  async check(
    owner: Author,
    creations: readonly (Creation | Failure)[],
  ): Promise<(ApiError | undefined)[]> {
    const results: LinkResult[] = [];
    const prepared = await this.#preparation.prepareLinks(owner, creations, "checked");
    const candidates = claimNames(prepared, results);
    const errors = creations.map((_, index) => errorOf(results[index]));
    const names = candidates.map((candidate) => namesOf(candidate));
    const conflicts = names.length === 0 ? undefined : await findConflicts(this.#sql, owner, names);
    for (const candidate of candidates)
      errors[candidate.index] = conflictError(
        namesOf(candidate),
        conflicts?.get(candidate.link.id),
      );
    return errors;
  }

  /**
   * Inserts the candidates, as many as the quota allows, and writes their outcomes into `results`.
   * All are inserted at once or none: after a conflict, without those that conflict. Returns how
   * many were.
   */
  async #insert(
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
        const insertions = toInsertions(owner, named, this.#shortUrl);
        const { consumption, versions } = await this.#insertions.insert(owner, insertions);
        if (versions !== undefined) {
          rejectBeyond(beyond, exhausted, results);
          for (const [i, { row }] of insertions.entries())
            results[named[i]?.index ?? 0] = {
              link: { ...row, version: versions[i] ?? 0, ...NO_CLICKS },
            };
          return insertions.length;
        }
        exhausted = consumption;
      } catch (error) {
        const free = await this.#dropConflicting(owner, named, error, results);
        // Rows that failed leave their quota to later rows.
        waiting = [...free, ...beyond];
      }
    }
    throw new Error(`No free alias after ${COLLISIONS_MAX} tries.`);
  }

  /**
   * After a failed insert: returns the candidates that can be inserted, and writes the errors of
   * the others into `results`. Rethrows an error that no candidate explains.
   */
  async #dropConflicting(
    owner: AccountScope,
    named: readonly Named[],
    error: unknown,
    results: LinkResult[],
  ): Promise<Candidate[]> {
    const checked = isNameTaken(error)
      ? await this.#checkNames(owner, named)
      : await this.#checkDomains(owner, named, error);
    return checked.flatMap((item, i) => {
      if (!isFailure(item)) return item;
      results[named[i]?.index ?? 0] = item;
      return [];
    });
  }

  /** Finds the candidates that chose a name of another link. */
  async #checkNames(
    owner: AccountScope,
    named: readonly Named[],
  ): Promise<(Candidate | Failure)[]> {
    const names = named.map((candidate) => namesOf(candidate, candidate.alias));
    const conflicts = await findConflicts(this.#sql, owner, names);
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
  async #checkDomains(
    owner: AccountScope,
    named: readonly Named[],
    error: unknown,
  ): Promise<(Candidate | Failure)[]> {
    if (!isForeignKeyViolation(error)) throw error;
    const checked = await prepareAll(named, async (candidate) => {
      await this.#preparation.requireDomain(owner, candidate.body);
      return candidate;
    });
    if (!checked.some(isFailure)) throw error;
    return checked;
  }

  /**
   * Finds the links that an earlier attempt of the same request has committed, and writes them into
   * `results`; rethrows `failure` for others. Returns whether there are any.
   */
  async #findEarlier(
    owner: AccountScope,
    candidates: readonly Candidate[],
    results: LinkResult[],
    failure: unknown,
  ): Promise<boolean> {
    const failed = candidates.filter(({ index }) => !isCreated(results[index]));
    if (failed.length === 0) return false;
    const ids = failed.map(({ link }) => link.id);
    const earlier = await findOwnedLinks(this.#sql, owner, ids);
    for (const { index, link } of failed) {
      const known = earlier.get(link.id);
      if (known !== undefined) results[index] = { link: known };
      else if (failure !== undefined) throw failure;
    }
    return earlier.size > 0;
  }
}

/** The creations that are valid, and the first to claim their names; others fail in `results`. */
export function claimNames<Prepared extends PreparedCreation>(
  prepared: readonly (Prepared | Failure)[],
  results: LinkResult[],
): (Prepared & { index: number })[] {
  const claims = new NameClaims();
  const candidates: (Prepared & { index: number })[] = [];
  for (const [index, item] of prepared.entries()) {
    const error = isFailure(item) ? item.error : claims.claim(namesOf(item));
    if (error !== undefined) results[index] = { error };
    else if (!isFailure(item)) candidates.push({ ...item, index });
  }
  return candidates;
}

/** The names that a candidate chooses; with its alias, also one that was generated. */
export const namesOf = (
  { link, body }: PreparedCreation,
  alias: string | null = body.alias ?? null,
): RequestedNames => {
  const { id, domain_id, folded, external_id } = link;
  return { id, domain_id, folded, alias, forwards: forwardsPath(link), external_id };
};

const remainingOf = ({ allowed, used }: Consumption): number => Math.max(0, allowed - used);

const toNamed = (candidate: Candidate, attempt: number): Named => ({
  ...candidate,
  alias: candidate.body.alias ?? generateAlias(lengthAfter(attempt, candidate.link)),
});

/** The insertions of an author's validated links; `shortUrl` is the origin of short links. */
export function toInsertions(
  { actor }: Author,
  links: readonly (PreparedCreation & { alias: string })[],
  shortUrl: string,
): Insertion[] {
  const author = {
    actor: JSON.stringify(actorJson(actor)),
    origin: actor.origin === undefined ? null : JSON.stringify(actor.origin),
  };
  return links.map(({ link, alias }) => {
    const row = { ...link, alias, updated_at: link.created_at };
    const data = linkData({ ...row, version: 0, ...NO_CLICKS }, shortUrl);
    const event = { id: newUuid(), data: JSON.stringify(data), ...author };
    const state = JSON.stringify(toRecordDraft(row)).slice(0, -"}".length);
    return { row, ...shortLinkOf(row), state, event };
  });
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

/** Throws the error of an exhausted quota if it left no link. */
function requireQuota(results: readonly LinkResult[]): void {
  if (results.some(isCreated)) return;
  const exceeded = results.map(errorOf).find((error) => error?.reason === "rate_limited");
  if (exceeded !== undefined) throw exceeded;
}

const isCreated = (result: LinkResult | undefined): boolean =>
  result !== undefined && !isFailure(result);

const errorOf = (result: LinkResult | undefined): ApiError | undefined =>
  result !== undefined && isFailure(result) ? result.error : undefined;
