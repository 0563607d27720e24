/** The redirector's figures for Prometheus. */
import { collectDefaultMetrics, Counter, Gauge, Registry } from "prom-client";

import type { LinkCache } from "./cache/link-cache.ts";
import { DROP_REASONS, type Journal } from "./journal/journal.ts";
import type { Publishing } from "./journal/publishing.ts";
import type { LinkFeed } from "./link-feed.ts";
import type { Lookups } from "./lookups.ts";

type MetricsDeps = {
  cache: LinkCache;
  feed: LinkFeed;
  journal: Journal;
  publishing: Publishing;
  lookups: Lookups;
  journalBytesMax: number;
};

/** Figures that are read where they stand when they are scraped; nothing is added to a redirect. */
export function createMetrics({
  cache,
  feed,
  journal,
  publishing,
  lookups,
  journalBytesMax,
}: MetricsDeps) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  // Counted in a plain map, and told when asked: a metric's own labels cost more than a redirect.
  const answered: Record<string, number> = {};
  const answers = new Counter({
    name: "shorthop_redirector_answers_total",
    help: "Requests answered, by what was decided",
    labelNames: ["decision"],
    registers,
    collect() {
      answers.reset();
      for (const [decision, count] of Object.entries(answered)) answers.inc({ decision }, count);
    },
  });
  new Gauge({
    name: "shorthop_redirector_journal_info",
    help: "1; the label is the id that the pages of this process are numbered under",
    labelNames: ["journal"],
    registers,
  }).set({ journal: journal.id }, 1);
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name: `shorthop_redirector_${name}`,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  gauge("cached_links", "Links in memory", () => cache.stats().entries);
  gauge("cached_bytes", "Memory of the links, as accounted", () => cache.stats().bytes);
  gauge("feed_lag", "Changes the cache is behind the links feed", () => feed.lag());
  gauge("lookups_running", "Look-ups in the links feed", () => lookups.stats().running);
  gauge("lookups_total", "Look-ups in the links feed so far", () => lookups.stats().admitted);
  gauge("lookups_refused", "Look-ups refused to guard the feed", () => lookups.stats().refused);
  gauge("clicks_recorded", "Clicks taken into the journal", () => journal.stats().recorded);
  gauge("journal_bytes", "Bytes that wait in the journal", () => journal.stats().pendingBytes);
  gauge("journal_bytes_max", "Bytes the journal may take", () => journalBytesMax);
  gauge("pages_pending", "Sealed pages that wait for JetStream", () => publishing.pending());
  gauge("pages_published", "Pages that JetStream acknowledged", () => publishing.published());
  for (const reason of DROP_REASONS) {
    gauge(
      `clicks_dropped_${reason}`,
      `Clicks lost: ${reason}`,
      () => journal.stats().dropped[reason],
    );
  }
  return {
    registry,
    onAnswer: (decision: string) => void (answered[decision] = (answered[decision] ?? 0) + 1),
  };
}
