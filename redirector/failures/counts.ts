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

type LinkSum = FailureReport["links"][number];
type AliasSum = FailureReport["aliases"][number];

/**
 * Aliases of a domain that survive pruning; up to twice as many are kept, so that new ones can
 * catch up.
 */
const ALIASES_PER_DOMAIN = 100;

type DomainSum = { requests: number; aliases: Map<string, number>; isCut: boolean };

export function createFailureCounts() {
  const links = new Map<string, LinkSum>();
  const domains = new Map<string, DomainSum>();
  let total = 0;

  return {
    /** Total of the failed requests counted here. */
    total: (): number => total,

    /** Number of counters: of links, of domains and of their aliases. */
    entries: (): number =>
      [...domains.values()].reduce(
        (sum, { aliases }) => sum + aliases.size,
        links.size + domains.size,
      ),

    /** Counts a failure of a link; false when another link would exceed the bound. */
    addLink(failure: Omit<LinkSum, "requests">): boolean {
      const key = `${failure.link_id} ${failure.reason} ${failure.domain}`;
      const sum = links.get(key);
      if (sum === undefined && links.size >= REPORTED_LINKS_MAX) return false;
      if (sum === undefined) links.set(key, { ...failure, requests: 1 });
      else sum.requests++;
      total++;
      return true;
    },

    /** Counts a request for an unknown alias; false when another domain would exceed the bound. */
    addUnknownAlias(domain: string, alias: string): boolean {
      let sum = domains.get(domain);
      if (sum === undefined) {
        if (domains.size >= REPORTED_DOMAINS_MAX) return false;
        sum = { requests: 0, aliases: new Map(), isCut: false };
        domains.set(domain, sum);
      }
      sum.requests++;
      sum.aliases.set(alias, (sum.aliases.get(alias) ?? 0) + 1);
      if (sum.aliases.size > 2 * ALIASES_PER_DOMAIN) cut(sum);
      total++;
      return true;
    },

    /** Returns the counts and resets them. */
    drain(): Pick<FailureReport, "links" | "domains" | "aliases"> {
      const drained = {
        links: [...links.values()],
        domains: [...domains].map(([domain, { requests }]) => ({ domain, requests })),
        aliases: namedAliases(domains),
      };
      links.clear();
      domains.clear();
      total = 0;
      return drained;
    },
  };
}

/** Removes the aliases with the fewest requests. */
function cut(sum: DomainSum): void {
  sum.aliases = new Map([...sum.aliases].toSorted(byRequests).slice(0, ALIASES_PER_DOMAIN));
  sum.isCut = true;
}

const byRequests = ([, a]: [string, number], [, b]: [string, number]): number => b - a;

/**
 * The aliases to report. If aliases had to be removed, as in a flood, those with a single request
 * are left out as noise.
 */
const namedAliases = (domains: ReadonlyMap<string, DomainSum>): AliasSum[] =>
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
