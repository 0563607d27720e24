/**
 * Sums of failed requests, in bounded memory however many aliases are made up: of a domain's unknown aliases only those
 * asked for most often have a sum of their own, while the domain's sum stays exact.
 */
import {
  type FailureReport,
  REPORTED_ALIASES_MAX,
  REPORTED_DOMAINS_MAX,
  REPORTED_LINKS_MAX,
} from "../../shared/contracts/failures.ts";

type LinkSum = FailureReport["links"][number];
type AliasSum = FailureReport["aliases"][number];

/** Names of a domain that outlast a cut; up to twice as many are held, so that new ones can catch up. */
const ALIASES_PER_DOMAIN = 100;

type DomainSum = { requests: number; aliases: Map<string, number>; isCut: boolean };

export function createFailureCounts() {
  const links = new Map<string, LinkSum>();
  const domains = new Map<string, DomainSum>();
  let total = 0;

  return {
    /** Failed requests that are counted here. */
    total: (): number => total,

    /** Sums that are held: of links, of domains and of their aliases. */
    entries: (): number =>
      [...domains.values()].reduce(
        (sum, { aliases }) => sum + aliases.size,
        links.size + domains.size,
      ),

    /** Counts a failure of a link; false when there is no room for another link. */
    addLink(failure: Omit<LinkSum, "requests">): boolean {
      const key = `${failure.link_id} ${failure.reason} ${failure.domain}`;
      const sum = links.get(key);
      if (sum === undefined && links.size >= REPORTED_LINKS_MAX) return false;
      if (sum === undefined) links.set(key, { ...failure, requests: 1 });
      else sum.requests++;
      total++;
      return true;
    },

    /** Counts a request for an unknown alias; false when there is no room for another domain. */
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

    /** Returns the sums, and begins anew. */
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

/** Forgets the names that were asked for least. */
function cut(sum: DomainSum): void {
  sum.aliases = new Map([...sum.aliases].toSorted(byRequests).slice(0, ALIASES_PER_DOMAIN));
  sum.isCut = true;
}

const byRequests = ([, a]: [string, number], [, b]: [string, number]): number => b - a;

/** The aliases to report. Of a flood, in which names had to be forgotten, those asked for once are none that matter. */
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
