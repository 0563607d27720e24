import { describe, expect, test } from "bun:test";

import { DiscardPolicy, nanos, RetentionPolicy, StorageType, type StreamConfig } from "nats";

import { HOUR_MS } from "../durations.ts";
import { CLICKS_SUBJECT, clicksStreamProblem } from "./streams.ts";

const sound = {
  subjects: [CLICKS_SUBJECT],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  discard: DiscardPolicy.New,
  max_msgs_per_subject: -1,
  max_age: nanos(72 * HOUR_MS),
  duplicate_window: nanos(HOUR_MS),
} as StreamConfig;

describe("a stream of clicks", () => {
  test.each<Partial<StreamConfig>>([
    {},
    { max_age: 0 },
    { max_age: nanos(24 * HOUR_MS) },
    { max_bytes: 1 },
  ])("may have other settings as long as no click is lost: %o", (change) => {
    expect(clicksStreamProblem({ ...sound, ...change })).toBeUndefined();
  });

  test.each<Partial<StreamConfig>>([
    { subjects: ["other"] },
    { storage: StorageType.Memory },
    { retention: RetentionPolicy.Interest },
    { retention: RetentionPolicy.Workqueue },
    { discard: DiscardPolicy.Old },
    { max_msgs_per_subject: 1_000 },
    { max_age: nanos(HOUR_MS) },
    { duplicate_window: nanos(1_000) },
  ])("that could lose clicks, or count them twice, is rejected: %o", (change) => {
    expect(clicksStreamProblem({ ...sound, ...change })).toBeString();
  });
});
