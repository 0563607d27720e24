/**
 * Links of another product: each keeps its alias and the time of its creation. One whose alias is
 * taken is never written: it is there already, or it is in the way of another link.
 */
import { newLinkBody } from "../../shared/contracts/link-schemas.ts";
import type { Uuid } from "../../shared/ids.ts";
import { ApiError } from "../http/errors.ts";
import type { AccountScope, Author } from "../http/principal.ts";
import { validateValue } from "../http/validation.ts";
import { errorCode, type Sql } from "../postgres.ts";
import { claimNames, namesOf, toInsertions } from "./create-links.ts";
import type { DestinationRules } from "./destinations.ts";
import { conflictError, isNameTaken } from "./names.ts";
import type { LinkPreparation, PreparedCreation } from "./prepare-link.ts";
import { type Creation, type Failure, isFailure, type LinkResult, toFailure } from "./results.ts";
import {
  type AliasHolder,
  DOMAIN_CHANGED,
  findAliasHolders,
  findConflicts,
  insertLinks,
} from "./sql.ts";

/** A link to import, with the members of `POST /v1/links`; its id is the same in every attempt. */
export type ImportedLink = {
  id: Uuid;
  body: Readonly<Record<string, unknown>>;
  createdAt: Date | undefined;
};

/**
 * The outcome of a link: it is `new`; the account has the `same` already, with this alias and this
 * destination; its alias is `taken`; or it is `refused`, as the API would.
 */
export type ImportOutcome =
  | { outcome: "new" | "same"; id: Uuid; host: string }
  | { outcome: "taken" | "refused"; reason: string };

/** A valid link, with its index in the request. */
type Candidate = Imported & { index: number };

type Imported = PreparedCreation & { alias: string };

/** Attempts while others create links under the same aliases, or change the domains. */
const ATTEMPTS_MAX = 5;

/** SQLSTATEs of links whose domain has changed, or has gone, since it was looked up. */
const CHANGED: ReadonlySet<string> = new Set([DOMAIN_CHANGED, "23503"]);

export class LinkImports {
  readonly #sql: Sql;
  readonly #preparation: LinkPreparation;
  readonly #rules: DestinationRules;

  constructor(sql: Sql, preparation: LinkPreparation, rules: DestinationRules) {
    this.#sql = sql;
    this.#preparation = preparation;
    this.#rules = rules;
  }

  /**
   * Creates those links that are new, without consuming the account's quota, and says of each what
   * became of it. Repeated with the same ids, it creates none twice. Processes of the API publish
   * them.
   */
  async import(owner: Author, links: readonly ImportedLink[]): Promise<ImportOutcome[]> {
    for (let attempt = 0; ; attempt++) {
      const outcomes: ImportOutcome[] = [];
      const candidates = await this.#prepare(owner, links, outcomes);
      const free = await this.#judge(owner, candidates, outcomes);
      try {
        await this.#insert(owner, free, outcomes);
        return outcomes;
      } catch (error) {
        const isPassing = isNameTaken(error) || CHANGED.has(errorCode(error) ?? "");
        if (!isPassing || attempt === ATTEMPTS_MAX) throw error;
      }
    }
  }

  /** Says of each link what would become of it. */
  async check(owner: Author, links: readonly ImportedLink[]): Promise<ImportOutcome[]> {
    const outcomes: ImportOutcome[] = [];
    const candidates = await this.#prepare(owner, links, outcomes);
    for (const candidate of await this.#judge(owner, candidates, outcomes))
      outcomes[candidate.index] = this.#created(candidate);
    return outcomes;
  }

  /** The links that are valid; of several with one alias the first. Others fail in `outcomes`. */
  async #prepare(
    owner: Author,
    links: readonly ImportedLink[],
    outcomes: ImportOutcome[],
  ): Promise<Candidate[]> {
    const creations = links.map((link) => readCreation(link));
    const prepared = await this.#preparation.prepareLinks(owner, creations, "created");
    const aged = prepared.map((item, i) =>
      isFailure(item) ? item : toImported(item, links[i]?.createdAt),
    );
    const results: LinkResult[] = [];
    const candidates = claimNames(aged, results);
    results.forEach((result, index) => {
      if (isFailure(result)) outcomes[index] = toOutcome(result.error);
    });
    return candidates;
  }

  /** The links whose aliases are free; what becomes of the others is written into `outcomes`. */
  async #judge(
    owner: AccountScope,
    candidates: readonly Candidate[],
    outcomes: ImportOutcome[],
  ): Promise<Candidate[]> {
    if (candidates.length === 0) return [];
    const names = candidates.map((candidate) => namesOf(candidate));
    const holders = await findAliasHolders(this.#sql, names);
    // Nearly all links have only an alias, without paths beneath one.
    const haveMore = names.some(
      ({ external_id, alias, forwards }) =>
        external_id !== null || forwards || alias?.includes("/") === true,
    );
    const conflicts = haveMore ? await findConflicts(this.#sql, owner, names) : undefined;
    return candidates.filter((candidate) => {
      const { id } = candidate.link;
      const holder = holders.get(id);
      const conflict = conflictError(namesOf(candidate), conflicts?.get(id));
      if (holder === undefined && conflict === undefined) return true;
      outcomes[candidate.index] =
        holder === undefined
          ? { outcome: "taken", reason: conflict?.message ?? "" }
          : this.#outcomeOf(owner, candidate, holder);
      return false;
    });
  }

  #outcomeOf(owner: AccountScope, candidate: Candidate, holder: AliasHolder): ImportOutcome {
    const { link, alias } = candidate;
    // An earlier attempt has created it.
    if (holder.id === link.id) return this.#created(candidate);
    const isOwn = holder.account_id === owner.accountId && holder.mode === owner.mode;
    return isOwn && holder.target_url === link.target_url
      ? { ...this.#created(candidate), outcome: "same", id: holder.id }
      : { outcome: "taken", reason: `The alias "${alias}" is already in use.` };
  }

  async #insert(
    owner: Author,
    candidates: readonly Candidate[],
    outcomes: ImportOutcome[],
  ): Promise<void> {
    if (candidates.length === 0) return;
    const insertions = toInsertions(owner, candidates, this.#rules.shortUrl.origin);
    await insertLinks(this.#sql, owner, insertions, { waits: true, consumes: false });
    for (const candidate of candidates) outcomes[candidate.index] = this.#created(candidate);
  }

  #created({ link: { id, domain_host } }: Candidate) {
    return { outcome: "new" as const, id, host: domain_host ?? this.#rules.shortUrl.hostname };
  }
}

function readCreation({ id, body }: ImportedLink): Creation | Failure {
  try {
    return { id, body: validateValue(newLinkBody, body) };
  } catch (error) {
    return toFailure(error);
  }
}

/** Without an alias a link would get another short URL than it has. */
function toImported(prepared: PreparedCreation, createdAt: Date | undefined): Imported | Failure {
  const { alias } = prepared.body;
  if (typeof alias !== "string")
    return { error: new ApiError("invalid_alias", "The link has no alias.") };
  const { link } = prepared;
  const isKnown = createdAt !== undefined && createdAt < link.created_at;
  return {
    ...prepared,
    alias,
    link: { ...link, created_at: isKnown ? createdAt : link.created_at },
  };
}

const toOutcome = ({ reason, message }: ApiError): ImportOutcome => ({
  outcome: reason === "alias_taken" ? "taken" : "refused",
  reason: message,
});
