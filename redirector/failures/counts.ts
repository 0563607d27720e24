/**
 * Counts failed requests in bounded memory, however many aliases are made up. Only a domain's most
 * requested unknown aliases have their own counts, while the domain's total stays exact.
 */
import {
  type FailureReport,
  REPORTED_ALIASES_MAX,
  REPORTED_DOMAINS_MAX,
  REPORTED_LINKS_MAX,
} from "../../shared/contracts/failures.ts";

/** How often requests of a link failed for a reason. */
export type LinkFailures = FailureReport["links"][number];
type AliasFailures = FailureReport["aliases"][number];

/**
 * Aliases of a domain that survive pruning; up to twice as many are kept, so that new ones can
 * catch up.
 */
const ALIASES_PER_DOMAIN = 100;

type DomainFailures = { requests: number; aliases: Map<string, number>; isCut: boolean };

export class FailureCounts {
  readonly #links = new Map<string, LinkFailures>();
  readonly #domains = new Map<string, DomainFailures>();
  #total = 0;

  /** Total of the failed requests counted here. */
  get total(): number {
    return this.#total;
  }

  /** Number of counters: of links, of domains and of their aliases. */
  get entries(): number {
    return [...this.#domains.values()].reduce(
      (sum, { aliases }) => sum + aliases.size,
      this.#links.size + this.#domains.size,
    );
  }

  /** Counts a failure of a link; false when another link would exceed the bound. */
  addLink(failure: Omit<LinkFailures, "requests">): boolean {
    const key = `${failure.link_id} ${failure.reason} ${failure.domain}`;
    const known = this.#links.get(key);
    if (known === undefined && this.#links.size >= REPORTED_LINKS_MAX) return false;
    if (known === undefined) this.#links.set(key, { ...failure, requests: 1 });
    else known.requests++;
    this.#total++;
    return true;
  }

  /** Counts a request for an unknown alias; false when another domain would exceed the bound. */
  addUnknownAlias(domain: string, alias: string): boolean {
    let counts = this.#domains.get(domain);
    if (counts === undefined) {
      if (this.#domains.size >= REPORTED_DOMAINS_MAX) return false;
      counts = { requests: 0, aliases: new Map(), isCut: false };
      this.#domains.set(domain, counts);
    }
    counts.requests++;
    counts.aliases.set(alias, (counts.aliases.get(alias) ?? 0) + 1);
    if (counts.aliases.size > 2 * ALIASES_PER_DOMAIN) cut(counts);
    this.#total++;
    return true;
  }

  /** Returns the counts and resets them. */
  drain(): Omit<FailureReport, "id" | "bucket"> {
    const drained = {
      links: [...this.#links.values()],
      domains: [...this.#domains].map(([domain, { requests }]) => ({ domain, requests })),
      aliases: namedAliases(this.#domains),
    };
    this.#links.clear();
    this.#domains.clear();
    this.#total = 0;
    return drained;
  }
}

/** Removes the aliases with the fewest requests. */
function cut(counts: DomainFailures): void {
  counts.aliases = new Map([...counts.aliases].toSorted(byRequests).slice(0, ALIASES_PER_DOMAIN));
  counts.isCut = true;
}

const byRequests = ([, a]: [string, number], [, b]: [string, number]): number => b - a;

/**
 * The aliases to report. If aliases had to be removed, as in a flood, those with a single request
 * are left out as noise.
 */
const namedAliases = (domains: ReadonlyMap<string, DomainFailures>): AliasFailures[] =>
  [...domains]
    .flatMap(([domain, { aliases, isCut }]) =>
      [...aliases]
        .filter(([, requests]) => !isCut || requests > 1)
        .toSorted(byRequests)
        .slice(0, ALIASES_PER_DOMAIN)
        .map(([alias, requests]) => ({ domain, alias, requests })),
    )
    .toSorted((a, b) => b.requests - a.requests)
    .slice(0, REPORTED_ALIASES_MAX);
