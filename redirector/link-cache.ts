/** The links in memory: the most recently used ones, within a bound of bytes; the newest state wins. */
import { LRUCache } from "lru-cache";

import type { ActiveLink, LinkRecord } from "../shared/contracts/link-record.ts";

/**
 * What an entry costs beside its texts: record, key, map slot and list links. A rough figure on the
 * safe side; the texts dominate.
 */
const ENTRY_OVERHEAD_BYTES = 400;

export type LinkCache = {
  /** The link, null when it is known to be deleted, undefined when it is not in memory. */
  get(domain: string, alias: string): ActiveLink | null | undefined;
  /** Takes a state in unless a newer one is there. */
  put(record: LinkRecord): void;
  /** Takes a state in if the short link is in memory already, or there is room. */
  update(record: LinkRecord): void;
  clear(): void;
  stats(): { entries: number; bytes: number };
};

export function createLinkCache(bytesMax: number): LinkCache {
  const entries = new LRUCache<string, LinkRecord>({
    maxSize: bytesMax,
    sizeCalculation: bytesOf,
  });

  function put(record: LinkRecord): void {
    const key = keyOf(record.domain, record.alias);
    const present = entries.peek(key);
    if (present === undefined || present.version < record.version) entries.set(key, record);
  }

  return {
    get(domain, alias) {
      const record = entries.get(keyOf(domain, alias));
      if (record === undefined) return undefined;
      return record.state === "active" ? record : null;
    },
    put,
    update(record) {
      const room = entries.calculatedSize + bytesOf(record) <= bytesMax;
      if (room || entries.has(keyOf(record.domain, record.alias))) put(record);
    },
    clear: () => entries.clear(),
    stats: () => ({ entries: entries.size, bytes: entries.calculatedSize }),
  };
}

/** Aliases hold no slash, so the key is unambiguous. */
const keyOf = (domain: string, alias: string): string => `${domain}/${alias}`;

const bytesOf = (record: LinkRecord): number =>
  ENTRY_OVERHEAD_BYTES +
  record.domain.length +
  2 * record.alias.length +
  (record.state === "active" ? record.destination.length + (record.password_hash?.length ?? 0) : 0);
