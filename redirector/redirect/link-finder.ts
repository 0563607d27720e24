/** Finds the requested link: in memory, in the store of the host, or later in the log. */
import { DEFAULT_DOMAIN, type LinkRecord } from "../../shared/contracts/link-record.ts";
import type { CachedState } from "../../shared/links-store/record.ts";
import type { LinkCache } from "../cache/link-cache.ts";
import type { RequestHead } from "../http/request-head.ts";
import type { LinkReads } from "../links/link-reads.ts";
import type { DomainReader } from "./domain-reader.ts";

type FinderDeps = {
  cache: Pick<LinkCache, "get" | "find">;
  links: Pick<LinkReads, "find" | "fetch">;
  domains: DomainReader;
};

export type LinkFinder = {
  /**
   * The cached link at the bytes of a path; undefined when there is none, or when another spelling
   * may have one.
   */
  findByPath(domain: string, head: RequestHead): CachedState | undefined;
  /** The cached link of an alias, in the case that the domain uses. */
  findCached(domain: string, alias: string): CachedState | undefined;
  /**
   * Loads a link from the store into the cache; returns its record. Undefined when that takes
   * longer, or when there is none.
   */
  findStored(domain: string, alias: string): LinkRecord | undefined;
  /**
   * As `findStored`, but waits as long as needed. Throws when it is unknown whether there is a
   * link.
   */
  fetch(domain: string, alias: string): Promise<LinkRecord | undefined>;
};

export function createLinkFinder({ cache, links, domains }: FinderDeps): LinkFinder {
  /**
   * The possible aliases of a link: a domain may have them in lower case, or still in both cases.
   */
  function aliasesOf(domain: string, alias: string): string[] {
    const fold = domains.foldOf(domain);
    const lower = alias.toLowerCase();
    if (fold === undefined || lower === alias) return [alias];
    return fold === "all" ? [lower] : [alias, lower];
  }

  return {
    findByPath(domain, head) {
      const link = cache.get(domain, head.bytes, head.path);
      return link === null && domain !== DEFAULT_DOMAIN ? undefined : link;
    },
    findCached(domain, alias) {
      const state = cache.find(domain, alias);
      if (state !== undefined && state !== null) return state;
      const fold = domains.foldOf(domain);
      const lower = alias.toLowerCase();
      if (fold === undefined || lower === alias) return state;
      const folded = cache.find(domain, lower);
      // While the domain switches, an alias as typed may exist that is not cached.
      return folded === null && fold === "switching" ? state : folded;
    },
    findStored(domain, alias) {
      if (!domains.isKnown(domain)) return undefined;
      const found: LinkRecord[] = [];
      for (const name of aliasesOf(domain, alias)) {
        const record = links.find(domain, name);
        if (record === undefined) return undefined;
        if (record !== null) found.push(record);
      }
      return firstActive(found);
    },
    async fetch(domain, alias) {
      if (!domains.isKnown(domain)) await domains.fetch(domain);
      const names = aliasesOf(domain, alias);
      const found = await Promise.all(names.map((name) => links.fetch(domain, name)));
      return firstActive(found.filter((record) => record !== undefined));
    },
  };
}

/** Of a link's records under several aliases, the active one. */
const firstActive = (records: readonly LinkRecord[]): LinkRecord | undefined =>
  records.find(({ state }) => state === "active") ?? records[0];
