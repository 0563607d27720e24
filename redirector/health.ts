/** Readiness of the process, and warnings for operators. */
import { linksDirOf } from "./config.ts";
import { diskWarning } from "./disk-room.ts";
import { clicksWarning } from "./journal/clicks-warning.ts";
import { storeWarning } from "./links/store-files.ts";
import type { Config, Parts } from "./parts.ts";

type HealthDeps = Pick<
  Parts,
  "logHealth" | "replicas" | "geo" | "limits" | "publisher" | "journal"
> & {
  config: Config;
  isStopping: () => boolean;
};

export function createHealth(deps: HealthDeps) {
  const { config, isStopping, logHealth, replicas, geo, limits, publisher, journal } = deps;
  const linksDir = linksDirOf(config);
  return {
    readiness: () => ({
      process: isStopping() ? "stopping" : "ok",
      links_feed: logHealth.readiness(),
    }),
    warnings: () => ({
      links_feed: logHealth.warning(),
      links_log: logHealth.strangersWarning(),
      replicas: replicas.warning(),
      geoip: geo.warning(),
      click_limits: limits.warning(),
      links_store: storeWarning(linksDir),
      clicks: clicksWarning({
        segments: publisher.pending(),
        seconds: publisher.waitingSeconds(),
        journalBytes: journal.stats().pendingBytes,
        journalBytesMax: config.JOURNAL_BYTES_MAX,
      }),
      disk: diskWarning({
        JOURNAL_DIR: { dir: config.JOURNAL_DIR, consequence: "clicks are lost" },
        LINKS_DIR: { dir: linksDir, consequence: "changes of links are not taken over" },
      }),
    }),
  };
}
