/** Metrics of the worker. */
import { createProcessMetrics } from "../shared/metrics.ts";
import type { ConsistencyCheck } from "./consistency-check.ts";
import type { Consumer, ConsumerDeps } from "./consumer.ts";
import type { Counters } from "./counters.ts";
import type { Geo } from "./enrich/geo.ts";

const INSERT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

type Watched = { consumer: Consumer; counters: Counters; audit: ConsistencyCheck; geo: Geo };

export function createMetrics() {
  const metrics = createProcessMetrics("worker");
  const { registry, gauge, counter, counterBy } = metrics;
  const segments = { stored: 0, dead_lettered: 0 };
  const clicks = { stored: 0, dead_lettered: 0 };
  let torn = 0;
  counterBy("outcome", "segments_total", "Segments, by outcome", () => segments);
  counterBy("outcome", "clicks_total", "Clicks, by outcome", () => clicks);
  const tornHelp = "Stored segments that a crash had cut short";
  counter("segments_torn_total", tornHelp, () => torn);
  const inserts = metrics.histogram(
    "insert_duration_seconds",
    "Time of one insert into ClickHouse, by outcome",
    { buckets: INSERT_BUCKETS, labelNames: ["outcome"] },
  );
  inserts.zero({ outcome: "ok" });
  inserts.zero({ outcome: "error" });

  return {
    registry,
    /** Runs an insert, and observes how long it took. */
    async timeInsert(insert: () => Promise<void>): Promise<void> {
      const end = inserts.startTimer();
      try {
        await insert();
        end({ outcome: "ok" });
      } catch (error) {
        end({ outcome: "error" });
        throw error;
      }
    },
    count: ((name, segmentCount, clickCount) => {
      if (name === "torn") {
        torn += segmentCount;
        return;
      }
      const outcome = name === "dead" ? "dead_lettered" : name;
      segments[outcome] += segmentCount;
      clicks[outcome] += clickCount;
    }) satisfies ConsumerDeps["count"],
    /** Registers the metrics of the worker's parts. */
    watch({ consumer, counters, audit, geo }: Watched): void {
      const pendingHelp = "Segments in JetStream that no worker has fetched; absent when unknown";
      gauge("segments_pending", pendingHelp, () =>
        consumer.state() === "ok" ? consumer.pending() : undefined,
      );
      const countersHelp = "Links whose counters are to be written to PostgreSQL";
      gauge("counters_pending", countersHelp, counters.pending);
      const writtenHelp = "When counters were last written to PostgreSQL; absent before";
      gauge("counters_written_timestamp_seconds", writtenHelp, () =>
        toSeconds(counters.writtenAt()),
      );
      const differencesHelp = "Rollup buckets that a consistency check found wrong, and rebuilt";
      counter("rollup_differences_total", differencesHelp, audit.differences);
      gauge("geoip_databases", "GeoIP databases in use", () => geo.databases().length);
      const builtHelp = "When the oldest GeoIP database was built; absent without one";
      gauge("geoip_built_timestamp_seconds", builtHelp, () => {
        const built = geo.databases().map((database) => database.built.getTime());
        return toSeconds(built.length === 0 ? undefined : Math.min(...built));
      });
    },
  };
}

const toSeconds = (ms: number | undefined): number | undefined =>
  ms === undefined ? undefined : ms / 1_000;
