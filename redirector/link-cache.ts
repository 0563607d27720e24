/** The links in memory: the most recently used ones, within a bound of bytes; the newest state wins. */
import { LRUCache } from "lru-cache";

import { packIds } from "../shared/contracts/click-page.ts";
import { DEFAULT_DOMAIN, type LinkRecord, type Mode } from "../shared/contracts/link-record.ts";

/** What a redirect and its click need of a link. */
export type CachedLink = {
  version: number;
  /** The ids of link and account, as a click's record holds them. */
  ids: string;
  mode: Mode;
  destination: string;
  expires_at: number | null;
  password_hash: string | null;
  forward_query: boolean;
};

/** One look in so many moves its link to the front. */
const LOOKS_PER_TOUCH = 8;

type Entry = CachedLink | { version: number; deleted: true };

/**
 * What an entry costs beside its texts: record, key, ids, map slot and list links. On the safe side of
 * what `bench:redirect` measures.
 */
const ENTRY_OVERHEAD_BYTES = 400;

export type LinkCache = {
  /** The link, null when it is known to be deleted, undefined when it is not in memory. */
  get(domain: string, alias: string): CachedLink | null | undefined;
  /** Takes a state in unless a newer one is there. */
  put(record: LinkRecord): void;
  /** Takes a state in if the short link is in memory already, or there is room. */
  update(record: LinkRecord): void;
  clear(): void;
  stats(): { entries: number; bytes: number };
};

export function createLinkCache(bytesMax: number): LinkCache {
  const entries = new LRUCache<string, Entry>({ maxSize: bytesMax });
  let looks = 0;

  function put(record: LinkRecord): void {
    const key = keyOf(record.domain, record.alias);
    const present = entries.peek(key);
    if (present !== undefined && present.version >= record.version) return;
    entries.set(key, toEntry(record), { size: bytesOf(record) });
  }

  return {
    get(domain, alias) {
      const key = keyOf(domain, alias);
      // Putting a link first in line costs more than finding it, so only every few looks do: a link that
      // is asked for often is still far from the end of the line.
      const entry = ++looks % LOOKS_PER_TOUCH === 0 ? entries.get(key) : entries.peek(key);
      return entry !== undefined && "deleted" in entry ? null : entry;
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

function toEntry(record: LinkRecord): Entry {
  if (record.state === "deleted") return { version: record.version, deleted: true };
  const { version, link_id, account_id, mode, destination, ...rest } = record;
  return {
    version,
    ids: packIds(link_id, account_id),
    mode,
    destination,
    expires_at: rest.expires_at,
    password_hash: rest.password_hash,
    forward_query: rest.forward_query,
  };
}

/** Aliases hold no slash, so the key is unambiguous. */
const keyOf = (domain: string, alias: string): string =>
  domain === DEFAULT_DOMAIN ? alias : `${domain}/${alias}`;

const bytesOf = (record: LinkRecord): number =>
  ENTRY_OVERHEAD_BYTES +
  record.domain.length +
  record.alias.length +
  (record.state === "active" ? record.destination.length + (record.password_hash?.length ?? 0) : 0);
