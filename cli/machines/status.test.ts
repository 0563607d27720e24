import { expect, test } from "bun:test";

import type { ProcessStatus } from "../../shared/status.ts";
import { formatStatus } from "./status.ts";

const NOW = Date.parse("2027-01-02T12:00:00Z");

const base: ProcessStatus = {
  process: "redirector",
  instance: 1,
  host: "edge-1",
  pid: 7,
  version: "1.2.3",
  started_at: "2027-01-01T08:00:00Z",
  status: "ready",
  parts: { process: "ok", links_feed: "ok" },
  warnings: {},
  figures: { feed_age_seconds: 1.25, feed_lag_messages: 0, journal_bytes: 5_000, connections: 12 },
};

test("each process has a line, and below it why it is not ready", () => {
  const worker: ProcessStatus = {
    ...base,
    process: "worker",
    instance: null,
    status: "not_ready",
    parts: { process: "ok", clicks: "no stream" },
    warnings: { replicas: "CLICKS has 1 of 3" },
    figures: { owner: false },
  };
  const lines = formatStatus([base, worker], 2_000, NOW).split("\n");
  expect(lines[0]).toBe(
    "PROCESS       HOST    VERSION  UP     STATE      LAG         JOURNAL  CONNECTIONS",
  );
  expect(lines[1]).toBe("redirector@1  edge-1  1.2.3    1d 4h  ready      feed 1.3 s  5 KiB    12");
  expect(lines.slice(2, 5)).toEqual([
    "worker        edge-1  1.2.3    1d 4h  NOT READY",
    "    clicks: no stream",
    "    replicas: CLICKS has 1 of 3",
  ]);
  expect(lines.at(-2)).toContain("2 processes responded within 2 s, 1 of them ready");
});

test("the owner of the clicks is told from workers that stand by", () => {
  const states = [
    { owner: true, owner_epoch: 4, clicks_lag_seconds: 0.5, segments_pending: 3 },
    { owner: false },
  ].map((figures) => formatStatus([{ ...base, figures }], 1_000, NOW).split("\n")[1]);
  expect(states[0]).toContain("ready, owner (epoch 4)  clicks 0.5 s, 3 segments");
  expect(states[1]).toContain("ready, stands by");
});
