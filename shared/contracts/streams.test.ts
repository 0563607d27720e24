import { describe, expect, test } from "bun:test";

import {
  DiscardPolicy,
  ErrorCode,
  type JetStreamManager,
  nanos,
  NatsError,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from "nats";

import { HOUR_MS } from "../durations.ts";
import {
  CLICKS_SUBJECT,
  clicksStreamProblem,
  ensureDeadLettersStream,
  MissingSubjectError,
} from "./streams.ts";

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

const ensureWith = (update: () => Promise<unknown>): Promise<void> => {
  const streams = { info: async () => ({ config: { subjects: ["clicks_dlq.page"] } }), update };
  // Only these two requests are sent.
  return ensureDeadLettersStream({ streams } as unknown as JetStreamManager, 1);
};

describe("a stream without its present subject", () => {
  test("that only an operator may update is an error with the command to run", async () => {
    const denied = new NatsError("Permissions Violation", ErrorCode.PermissionsViolation);
    const error = await ensureWith(() => Promise.reject(denied)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(MissingSubjectError);
    expect(String(error)).toContain(
      "nats stream edit CLICKS_DLQ --subjects=clicks_dlq.page,clicks_dlq.segment",
    );
  });

  test("is not taken for one that only an operator may update when the connection fails", async () => {
    const late = new NatsError("TIMEOUT", ErrorCode.Timeout);
    expect(await ensureWith(() => Promise.reject(late)).catch((thrown: unknown) => thrown)).toBe(
      late,
    );
  });
});
