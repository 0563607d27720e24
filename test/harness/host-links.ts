/** The links of a redirector host, followed and read in this process. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createDomainSettingsCache } from "../../redirector/cache/domain-settings.ts";
import { createLinkCache } from "../../redirector/cache/link-cache.ts";
import { createTakedowns } from "../../redirector/cache/takedowns.ts";
import { createFeedGroup } from "../../redirector/links/feed-group.ts";
import { FeedHealth } from "../../redirector/links/feed-health.ts";
import { createFeedRecords } from "../../redirector/links/feed-records.ts";
import { startFollower } from "../../redirector/links/follower.ts";
import { startHostLinks } from "../../redirector/links/host-links.ts";
import { openReader } from "../../redirector/links/store-reader.ts";
import { openWriter } from "../../redirector/links/store-writer.ts";
import { UNDIVIDED } from "../../shared/contracts/links-streams.ts";
import type { Log } from "../../shared/log.ts";
import { openNats } from "../../shared/nats.ts";

export function startTestHost(url: string, { replicas = 1, log }: { replicas?: number; log: Log }) {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-links-"));
  const nats = openNats({ url, name: "redirector", log });
  const store = openWriter(dir, { reserveBytes: 0 });
  const reader = openReader(dir);
  let skipped = 0;
  const records = createFeedRecords(log, () => skipped++);
  const group = createFeedGroup({ store, streams: [UNDIVIDED], log });
  const shared = { nats, group, store, records, log };
  const follower = startFollower({ ...shared, stream: UNDIVIDED, streamReplicas: replicas });
  const health = new FeedHealth();
  const links = startHostLinks({
    dir,
    nats,
    streams: [UNDIVIDED],
    cache: createLinkCache(4 * 1024 ** 2),
    takedowns: createTakedowns(),
    domains: createDomainSettingsCache(),
    prefetch: () => Promise.resolve(),
    onFeed: (feed) => health.onFeed(feed),
    onDamaged: (error) => {
      throw error;
    },
    log,
  });
  void links.waitUntilCurrent().then(() => health.onCurrent());
  return {
    links,
    health,
    skipped: () => skipped,
    /** The version of a link in the store. */
    versionOf: (alias: string): number | undefined => reader.find("", alias)?.version,
    async [Symbol.asyncDispose]() {
      links.stop();
      await follower.stop();
      store.close();
      reader.close();
      await nats.close();
      rmSync(dir, { recursive: true });
    },
  };
}
