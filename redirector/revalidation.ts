/**
 * Revalidation of the cache after the feed was lost: changes may be missing from the cache, and links in it may be
 * gone. Each cached link is read again, while the cache goes on answering.
 */
import type { LinkRecord } from "../shared/contracts/link-record.ts";
import type { Log } from "../shared/log.ts";
import type { LinkCache } from "./cache/link-cache.ts";
import type { FetchLink } from "./link-fetch.ts";

/** Links read at a time: a million in less than two minutes, beside the look-ups of requests. */
const CONCURRENCY = 32;

/** Pause after a fetch that failed: NATS is away again. */
const RETRY_MS = 1_000;

type RevalidationDeps = {
  cache: Pick<LinkCache, "records" | "put" | "remove">;
  fetchLink: FetchLink;
  /** Ends the revalidation early, when the process stops or the feed was lost again. */
  isCancelled: () => boolean;
  log: Log;
};

/** Reads each cached link again; resolves when all are read. A link that is no longer in the feed is removed. */
export async function revalidate({
  cache,
  fetchLink,
  isCancelled,
  log,
}: RevalidationDeps): Promise<void> {
  const records = cache.records()[Symbol.iterator]();
  const counts = { read: 0, removed: 0 };

  async function readAgain(record: LinkRecord): Promise<void> {
    while (!isCancelled()) {
      try {
        const current = await fetchLink(record.domain, record.alias);
        counts.read++;
        if (current !== undefined) {
          cache.put(current);
          return;
        }
        cache.remove(record);
        counts.removed++;
        return;
      } catch {
        await Bun.sleep(RETRY_MS);
      }
    }
  }

  async function readNext(): Promise<void> {
    for (let next = records.next(); next.done !== true; next = records.next())
      await readAgain(next.value);
  }

  await Promise.all(Array.from({ length: CONCURRENCY }, readNext));
  if (!isCancelled()) log.info(counts, "cache_revalidated");
}
