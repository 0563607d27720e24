/** Makes a running API process publish every link again: `shorthop links resync`. */
import type { Sql } from "../postgres.ts";
import { recordIncomplete, selectFeeds } from "./sql.ts";

const POLL_MS = 200;

/** A process checks the feed every two seconds, and publishes hundreds of links at a time. */
const IDLE_MS_MAX = 120_000;

/**
 * Requests a fill of the streams and waits until it is complete. Returns the number of links; calls
 * `onProgress` as it grows. Throws when no API process publishes any link for two minutes. The
 * request remains for a process that starts later.
 */
export async function resyncLinks(sql: Sql, onProgress: (links: number) => void): Promise<number> {
  const since = await recordIncomplete(sql, 0);
  let links = 0;
  let movedAt = performance.now();
  for (;;) {
    const rows = await selectFeeds(sql);
    const filled = rows.reduce((sum, { filled_links }) => sum + filled_links, 0);
    if (filled !== links) {
      links = filled;
      movedAt = performance.now();
      onProgress(links);
    }
    if (rows.every(({ epoch }) => epoch !== null && epoch > since)) return filled;
    if (performance.now() - movedAt > IDLE_MS_MAX)
      throw new Error(
        "No API process publishes the links. One does so as soon as it runs and reaches NATS.",
      );
    await Bun.sleep(POLL_MS);
  }
}
