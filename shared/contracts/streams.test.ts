import { describe, expect, test } from "bun:test";

import {
  connect,
  DiscardPolicy,
  nanos,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from "nats";

import { startNats } from "../../test/harness/nats.ts";
import { HOUR_MS } from "../durations.ts";
import { natsLogin } from "../nats.ts";
import { listDeadLetters } from "./dead-letters.ts";
import { CLICKS_SUBJECT, clicksStreamProblem, ensureDeadLettersStream } from "./streams.ts";

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

test("dead letters are not reported to be none while their stream is missing", async () => {
  await using nats = await startNats();
  const connection = await connect(natsLogin(nats.url));
  try {
    const manager = await connection.jetstreamManager();
    const error = await listDeadLetters(manager).catch((reason: unknown) => reason);
    expect(String(error)).toContain("stream not found");
    await ensureDeadLettersStream(manager, 1);
    expect(await listDeadLetters(manager)).toEqual([]);
  } finally {
    await connection.close();
  }
});
