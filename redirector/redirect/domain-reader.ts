/**
 * The settings of custom domains, for requests: from memory, synchronously from the store, or later
 * from the log.
 */
import { DEFAULT_DOMAIN } from "../../shared/contracts/link-record.ts";
import { DOMAIN_ALIAS } from "../../shared/contracts/notices.ts";
import type { DomainResponses, DomainSettingsCache } from "../cache/domain-settings.ts";
import type { LinkReads } from "../links/link-reads.ts";

type DomainDeps = {
  domains: Pick<DomainSettingsCache, "get" | "apply">;
  links: Pick<LinkReads, "find" | "fetch">;
};

export type DomainReader = {
  /**
   * A domain's responses in memory; null when it has no settings, undefined when that is unknown.
   */
  get(domain: string): DomainResponses | null | undefined;
  /**
   * How a domain treats the case of aliases; undefined when unknown in memory or case-sensitive, as
   * the default domain is.
   */
  foldOf(domain: string): DomainResponses["fold"];
  /** Whether the settings of a domain are known, after a lookup in the store. */
  isKnown(domain: string): boolean;
  /**
   * Reads the settings of a domain, however long that takes; returns whether it has any. Throws
   * when that is unknown.
   */
  fetch(domain: string): Promise<boolean>;
};

export function createDomainReader({ domains, links }: DomainDeps): DomainReader {
  return {
    get: domains.get,
    foldOf: (domain) => (domain === DEFAULT_DOMAIN ? undefined : domains.get(domain)?.fold),
    isKnown(domain) {
      if (domain === DEFAULT_DOMAIN || domains.get(domain) !== undefined) return true;
      const notice = links.find(domain, DOMAIN_ALIAS);
      if (notice === undefined) return false;
      domains.apply(domain, notice ?? undefined);
      return true;
    },
    async fetch(domain) {
      const notice = await links.fetch(domain, DOMAIN_ALIAS);
      domains.apply(domain, notice);
      return notice !== undefined;
    },
  };
}
