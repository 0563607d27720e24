/**
 * Revalidation of the cache. Cached links are read from the feed again after the position in the feed was lost, when
 * changes may be missing, and after the stream was filled again, when links may be gone. The cache answers meanwhile. A
 * link is removed only when the stream lacks it and is known to have every link.
 */
import type { Heartbeat } from "../shared/contracts/feed-notices.ts";
import type { LinkRecord } from "../shared/contracts/link-record.ts";
import type { Log } from "../shared/log.ts";
import type { LinkCache } from "./cache/link-cache.ts";
import type { DomainAnswersCache } from "./domain-settings.ts";
import { type FetchLink, MalformedRecordError } from "./link-fetch.ts";

/** Links read at a time: a million in less than two minutes, beside the look-ups of requests. */
const CONCURRENCY = 32;

/** Pause after a fetch that failed: NATS is away again. */
const RETRY_MS = 1_000;

/** Whether a link that was read again may be removed because the stream lacks it. */
type Missing = "removed" | "kept";

export type Revalidation = {
  /** The position in the feed was lost: any cached link may be outdated. */
  onLost(): void;
  /** Takes over what the feed says of itself; undefined for a heartbeat of an earlier version. */
  onHeartbeat(heartbeat: Heartbeat | undefined): void;
  /** The epoch since which the cache is valid; undefined while links have to be read again. */
  epoch(): number | undefined;
  /** False when the feed has said that it lacks links. */
  isComplete(): boolean;
};

type RevalidationDeps = {
  cache: Pick<LinkCache, "records" | "put" | "remove">;
  domains: Pick<DomainAnswersCache, "domains" | "forget">;
  fetchLink: FetchLink;
  fetchDomain: (domain: string) => Promise<LinkRecord | undefined>;
  isStopped: () => boolean;
  /** The epoch since which the records are valid that are in the cache already; undefined when that is not known. */
  initialEpoch: number | undefined;
  log: Log;
};

export function createRevalidation({
  cache,
  domains,
  fetchLink,
  fetchDomain,
  isStopped,
  initialEpoch,
  log,
}: RevalidationDeps): Revalidation {
  /** Epoch of the last revalidation that has ended. */
  let validated = initialEpoch;
  /** What the running revalidation makes valid; undefined when none runs. */
  let target: number | undefined;
  let isComplete = true;
  /** Counts revalidations, so that one ends when the next begins. */
  let runs = 0;

  /** Reads links older than `before` again. */
  async function revalidate(before: number, epoch: number, missing: Missing): Promise<void> {
    const run = ++runs;
    target = epoch;
    const isCancelled = () => isStopped() || run !== runs;
    await rereadDomains(isCancelled, missing);
    const counts = await rereadLinks({ cache, fetchLink, isCancelled }, before, missing);
    if (isCancelled()) return;
    target = undefined;
    validated = epoch;
    log.info(counts, "cache_revalidated");
  }

  async function rereadDomains(isCancelled: () => boolean, missing: Missing): Promise<void> {
    for (const domain of domains.domains()) {
      if (isCancelled()) return;
      // What fails here is delivered when it changes.
      const record = await fetchDomain(domain).catch(() => FAILED);
      if (record === undefined && missing === "removed") domains.forget(domain);
    }
  }

  return {
    onLost() {
      runs++;
      target = undefined;
      validated = undefined;
    },
    onHeartbeat(heartbeat) {
      isComplete = heartbeat?.complete ?? true;
      if (!isComplete) return;
      const epoch = heartbeat?.epoch ?? 0;
      const known = target ?? validated;
      if (known !== undefined && known >= epoch) return;
      // An API of an earlier version does not know whether the stream has every link.
      const missing = heartbeat === undefined ? "kept" : "removed";
      // Links that were published since the epoch are valid, unless changes were missed.
      void revalidate(validated === undefined ? Infinity : epoch, epoch, missing);
    },
    epoch: () => (target === undefined ? validated : undefined),
    isComplete: () => isComplete,
  };
}

const FAILED = "failed";

type RereadingDeps = Pick<RevalidationDeps, "cache" | "fetchLink"> & {
  /** Ends early, when the process stops or another revalidation begins. */
  isCancelled: () => boolean;
};

/** Reads each cached link again whose version is below `before`; returns how many were read and removed. */
async function rereadLinks(
  { cache, fetchLink, isCancelled }: RereadingDeps,
  before: number,
  missing: Missing,
): Promise<{ read: number; removed: number }> {
  const records = cache.records()[Symbol.iterator]();
  const counts = { read: 0, removed: 0 };

  async function readAgain(record: LinkRecord): Promise<void> {
    while (!isCancelled()) {
      try {
        const current = await fetchLink(record.domain, record.alias);
        counts.read++;
        if (current !== undefined) cache.put(current);
        else if (missing === "removed") {
          cache.remove(record);
          counts.removed++;
        }
        return;
      } catch (error) {
        // What it should say is not known, so the cached one stays; it has been logged.
        if (error instanceof MalformedRecordError) return;
        await Bun.sleep(RETRY_MS);
      }
    }
  }

  async function readNext(): Promise<void> {
    for (let next = records.next(); next.done !== true && !isCancelled(); next = records.next())
      if (next.value.version < before) await readAgain(next.value);
  }

  await Promise.all(Array.from({ length: CONCURRENCY }, readNext));
  return counts;
}
