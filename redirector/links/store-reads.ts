/** Reads the store for requests: in their event loop turn, or in a thread when the disk is slow. */
import { isNotice } from "../../shared/contracts/feed-notices.ts";
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import type { LinkCache } from "../cache/link-cache.ts";
import { createDiskSpeed } from "./disk-speed.ts";
import type { PresentStore } from "./present-store.ts";

type ReadsDeps = {
  cache: Pick<LinkCache, "put">;
  /** Makes another thread read a link, so that its pages are in memory afterwards. */
  prefetch: (domain: string, alias: string) => Promise<void>;
  store: Pick<PresentStore, "use" | "isOpen">;
  /** Whether the store has every link. */
  isComplete: () => boolean;
  isReadable: () => boolean;
  /** Waits until the store has caught up with the feed for an alias. */
  catchUp: (domain: string, alias: string) => Promise<void>;
};

/** Creates the reads, which find links and notices as `HostLinks` documents. */
export function createStoreReads({
  cache,
  prefetch,
  store,
  isComplete,
  isReadable,
  catchUp,
}: ReadsDeps) {
  const disk = createDiskSpeed();
  const counts = { direct: 0, slow: 0 };

  function keep<Found extends LinkRecord | undefined>(found: Found): Found {
    if (found !== undefined && !isNotice(found)) cache.put(found);
    return found;
  }

  /**
   * Reads a link, in a thread if that could take long. Throws when a link may exist nevertheless.
   */
  async function read(domain: string, alias: string): Promise<LinkRecord | undefined> {
    if (!store.isOpen() || !isReadable()) throw new Error("There is no links store yet.");
    const isSlow = disk.isSlow(performance.now());
    counts[isSlow ? "slow" : "direct"]++;
    if (isSlow) await prefetch(domain, alias);
    // Reads here and not in that thread: a change applied meanwhile must not be replaced by an
    // earlier read.
    const row = store.use((reader) => ({ record: reader.find(domain, alias) }));
    if (row === undefined) throw new Error("The link is malformed, or the store cannot be read.");
    const { record } = row;
    if (record === undefined && !isComplete()) throw new Error("The links store lacks links.");
    return record;
  }

  return {
    counts: () => counts,
    find(domain: string, alias: string): LinkRecord | null | undefined {
      const startedAt = performance.now();
      if (disk.isSlow(startedAt) || !isReadable()) return undefined;
      counts.direct++;
      const found = store.use((reader) => reader.find(domain, alias) ?? null);
      disk.note(startedAt, performance.now());
      if (found === null) return isComplete() ? null : undefined;
      return found === undefined || isDeleted(found) ? undefined : keep(found);
    },
    async fetch(domain: string, alias: string): Promise<LinkRecord | undefined> {
      const found = await read(domain, alias);
      if (found !== undefined && !isDeleted(found)) return keep(found);
      await catchUp(domain, alias);
      return keep(await read(domain, alias));
    },
  };
}

/** Whether a record is a deletion. */
const isDeleted = (record: LinkRecord): boolean => record.state === "deleted" && !isNotice(record);
