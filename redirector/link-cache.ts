/**
 * The links in memory, within a bound of bytes; the newest state wins. What has to go is found by the
 * clock algorithm (Corbató, 1968): finding a link marks it, and a marked one is passed over once. Unlike
 * a list in order of use it costs a redirect one look into one table.
 */
import { packIds, unpackIds } from "../shared/contracts/click-page.ts";
import type { LinkRecord, Mode } from "../shared/contracts/link-record.ts";

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

/** A link, or the knowledge that there is none any more. */
type Entry = { link: CachedLink | null; version: number; bytes: number; used: boolean };

/**
 * What an entry costs beside its texts: record, key, ids and its place in the table. On the safe side of
 * what `bench:redirect` measures.
 */
const ENTRY_OVERHEAD_BYTES = 400;

export type LinkCache = {
  /**
   * The link at a path such as `/abc`, null when it is known to be deleted, undefined when it is not in
   * memory.
   */
  get(domain: string, path: string): CachedLink | null | undefined;
  /** Takes a state in unless a newer one is there. */
  put(record: LinkRecord): void;
  /** Takes a state in if the short link is in memory already, or there is room. */
  update(record: LinkRecord): void;
  /** Every state in memory, as the feed told it. */
  records(): Iterable<LinkRecord>;
  clear(): void;
  stats(): { entries: number; bytes: number };
};

export function createLinkCache(bytesMax: number): LinkCache {
  const entries = new Map<string, Entry>();
  let bytes = 0;

  /** Makes room from the oldest on; what was used meanwhile begins anew as the youngest. */
  function makeRoom(needed: number): void {
    for (const [key, entry] of entries) {
      if (bytes + needed <= bytesMax) return;
      entries.delete(key);
      if (entry.used) {
        entry.used = false;
        entries.set(key, entry);
      } else {
        bytes -= entry.bytes;
      }
    }
  }

  function put(record: LinkRecord): void {
    const key = keyOf(record.domain, `/${record.alias}`);
    const present = entries.get(key);
    if (present !== undefined && present.version >= record.version) return;
    const entry = toEntry(record);
    if (entry.bytes > bytesMax) return;
    if (present !== undefined) {
      entry.used = present.used;
      bytes -= present.bytes;
      entries.delete(key);
    }
    makeRoom(entry.bytes);
    entries.set(key, entry);
    bytes += entry.bytes;
  }

  return {
    get(domain, path) {
      const entry = entries.get(keyOf(domain, path));
      if (entry === undefined) return undefined;
      entry.used = true;
      return entry.link;
    },
    put,
    update(record) {
      const known = entries.has(keyOf(record.domain, `/${record.alias}`));
      if (known || bytes + bytesOf(record) <= bytesMax) put(record);
    },
    *records() {
      // What is put anew meanwhile comes last: beyond those that were there, all is known already.
      let left = entries.size;
      for (const [key, entry] of entries) {
        if (left-- === 0) return;
        yield toRecord(key, entry);
      }
    },
    clear() {
      entries.clear();
      bytes = 0;
    },
    stats: () => ({ entries: entries.size, bytes }),
  };
}

function toEntry(record: LinkRecord): Entry {
  const { version } = record;
  const link = record.state === "active" ? toLink(record) : null;
  return { link, version, bytes: bytesOf(record), used: false };
}

function toRecord(key: string, { link, version }: Entry): LinkRecord {
  const slash = key.lastIndexOf("/");
  const [domain, alias] = [key.slice(0, slash), key.slice(slash + 1)];
  if (link === null) return { state: "deleted", version, domain, alias };
  const { ids, ...rest } = link;
  const { linkId, accountId } = unpackIds(ids);
  return { state: "active", ...rest, domain, alias, link_id: linkId, account_id: accountId };
}

const toLink = (record: Extract<LinkRecord, { state: "active" }>): CachedLink => ({
  version: record.version,
  ids: packIds(record.link_id, record.account_id),
  mode: record.mode,
  destination: record.destination,
  expires_at: record.expires_at,
  password_hash: record.password_hash,
  forward_query: record.forward_query,
});

/** The default domain's name is empty, so its keys are the paths; no path begins like a host. */
const keyOf = (domain: string, path: string): string => (domain === "" ? path : domain + path);

const bytesOf = (record: LinkRecord): number =>
  ENTRY_OVERHEAD_BYTES +
  record.domain.length +
  record.alias.length +
  (record.state === "active" ? record.destination.length + (record.password_hash?.length ?? 0) : 0);
