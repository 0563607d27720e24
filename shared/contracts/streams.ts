/**
 * The JetStream streams: `CLICKS` carries segments of clicks to the workers, `CLICKS_DLQ` is the
 * dead-letter queue, `LIMITS` has the ledgers of click limits; those of the links log are in
 * `shared/links-log`. These settings need nats-server 2.9 or later.
 */
import {
  DiscardPolicy,
  type JetStreamManager,
  nanos,
  NatsError,
  RetentionPolicy,
  StorageType,
  type StoredMsg,
  type StreamConfig,
} from "nats";

import { HOUR_MS, MINUTE_MS } from "../durations.ts";
import type { Uuid } from "../ids.ts";
import type { Log } from "../log.ts";
import { SEGMENT_BYTES_MAX } from "./click-segment.ts";

/**
 * Maximum bytes that one pull, or one group of requests, has delivered at once: a server of NATS
 * ends the connection of a client for which more than its `max_pending` waits, by default 64 MiB.
 */
export const PULL_BYTES_MAX = 8 * 1024 * 1024;

/**
 * Segments of one pull, as many as that is, whatever their size. The client bounds a pull in
 * messages or in bytes; one in bytes does not end when it has all its messages.
 */
export const PULL_SEGMENTS = Math.floor(PULL_BYTES_MAX / SEGMENT_BYTES_MAX);

/**
 * During an election JetStream does not respond, and a request may have gone to a dead server: a
 * short timeout finds the new leader soon.
 */
export const SHORT_REQUESTS = { timeout: 500, checkAPI: false };

export const CLICKS_STREAM = "CLICKS";

/** Subject of every segment of clicks. */
export const CLICKS_SUBJECT = "clicks.segment";

/** The durable consumer of all workers. It filters no subjects: it consumes the whole stream. */
export const CLICKS_WORKER = "worker";

/** The dead-letter queue: segments that can never be stored, for an operator to inspect. */
export const DEAD_LETTERS_STREAM = "CLICKS_DLQ";
export const DEAD_LETTERS_SUBJECT = "clicks_dlq.segment";

/** The ledgers of click limits: see `click-limits.ts`. */
export const LIMITS_STREAM = "LIMITS";

export const limitSubject = (limit: Uuid): string => `limits.${limit}`;

/** Maximum bytes of a ledger: it has ENTRIES_MAX entries of some 70 bytes. */
const LEDGER_BYTES_MAX = 32 * 1024;

/** How long a segment waits for a worker before it expires. */
const CLICKS_MAX_AGE_HOURS = 72;

/** The shortest expiry that an operator may set: it leaves time to notice that no worker runs. */
const CLICKS_AGE_HOURS_MIN = 12;

/** Share of its maximum size from which workers delete the oldest stored segments. */
export const CLICKS_TRIMMED_AT = 0.75;

/** How long JetStream recognises a segment's id. Workers recognise older duplicates. */
const CLICKS_DUPLICATE_WINDOW_MINUTES = 60;

/** JetStream's error code for a stream that does not exist. */
export const STREAM_NOT_FOUND = 10_059;

/** JetStream's error code for "no message found". */
const NO_MESSAGE = 10_037;

/** JetStream's error code for a message that does not follow the one expected. */
export const WRONG_LAST_SEQUENCE = 10_071;

/** JetStream's error code for a stream name in use with another configuration. */
const STREAM_NAME_IN_USE = 10_058;

/** JetStream's error codes for a consumer that exists with another configuration. */
export const CONSUMER_EXISTS: ReadonlySet<number | undefined> = new Set([10_013, 10_105, 10_148]);

/**
 * Creates the stream of ledgers of click limits unless it exists. Each subject keeps its last
 * ledger for ever.
 */
export const ensureLimitsStream = (manager: JetStreamManager, replicas: number): Promise<void> =>
  ensureStream(manager, {
    num_replicas: replicas,
    name: LIMITS_STREAM,
    description: "Clicks that redirectors have leased of limited links",
    subjects: ["limits.*"],
    max_msgs_per_subject: 1,
    max_msg_size: LEDGER_BYTES_MAX,
  });

/**
 * Creates the stream of segments unless it exists. With `discard: new` a full stream rejects
 * segments, so redirectors keep them in their journals and none is silently deleted. Throws when
 * the existing stream could lose clicks silently.
 */
export async function ensureClicksStream(
  manager: JetStreamManager,
  bytesMax: number,
  replicas: number,
): Promise<void> {
  await ensureStream(manager, {
    num_replicas: replicas,
    name: CLICKS_STREAM,
    description: "Segments of clicks on their way to ClickHouse",
    subjects: [CLICKS_SUBJECT],
    max_age: nanos(CLICKS_MAX_AGE_HOURS * HOUR_MS),
    max_bytes: bytesMax,
    duplicate_window: nanos(CLICKS_DUPLICATE_WINDOW_MINUTES * MINUTE_MS),
  });
  const { config } = await manager.streams.info(CLICKS_STREAM);
  const problem = clicksStreamProblem(config);
  if (problem !== undefined) {
    throw new Error(`The stream ${CLICKS_STREAM} must not be used: ${problem}.`);
  }
}

/**
 * Returns why a stream could lose clicks silently or count them twice; undefined when it cannot.
 */
export function clicksStreamProblem(config: StreamConfig): string | undefined {
  if (!config.subjects.includes(CLICKS_SUBJECT)) return `it does not accept ${CLICKS_SUBJECT}`;
  if (config.storage !== StorageType.File) return "it keeps messages only in memory";
  if (config.retention !== RetentionPolicy.Limits)
    return "it keeps messages only for connected consumers";
  if (config.discard !== DiscardPolicy.New) return "it drops old messages when it is full";
  if (config.max_msgs_per_subject > 0) return "it limits the messages of a subject";
  const hours = config.max_age / nanos(HOUR_MS);
  if (hours > 0 && hours < CLICKS_AGE_HOURS_MIN) {
    return `it drops messages after ${hours} hours`;
  }
  if (config.duplicate_window < nanos(MINUTE_MS)) return "its duplicate window is too short";
  return undefined;
}

/** Creates the dead-letter queue unless it exists. Dead letters do not expire. */
export const ensureDeadLettersStream = (
  manager: JetStreamManager,
  replicas: number,
): Promise<void> =>
  ensureStream(manager, {
    num_replicas: replicas,
    name: DEAD_LETTERS_STREAM,
    description: "Segments of clicks that ClickHouse rejected, with the reason",
    subjects: [DEAD_LETTERS_SUBJECT],
    duplicate_window: nanos(CLICKS_DUPLICATE_WINDOW_MINUTES * MINUTE_MS),
  });

type StreamSettings = Partial<StreamConfig> & { name: string; subjects: string[] };

/**
 * Creates a stream unless it exists, on disk, which refuses messages when it is full. Unless the
 * settings say more, its messages carry an expected sequence or a name of their own, so that the
 * shortest window for duplicates is enough.
 */
export async function ensureStream(
  manager: JetStreamManager,
  settings: StreamSettings,
): Promise<void> {
  try {
    await manager.streams.info(settings.name);
  } catch (error) {
    if (jetStreamErrorCode(error) !== STREAM_NOT_FOUND) throw error;
    try {
      await manager.streams.add({
        storage: StorageType.File,
        retention: RetentionPolicy.Limits,
        discard: DiscardPolicy.New,
        duplicate_window: nanos(1_000),
        ...settings,
      });
    } catch (addError) {
      // Another process created it in between, perhaps with the operator's settings.
      if (jetStreamErrorCode(addError) !== STREAM_NAME_IN_USE) throw addError;
    }
  }
}

/** Finds a message by its sequence, or the last one of a subject; undefined when there is none. */
export async function findMessage(
  manager: JetStreamManager,
  stream: string,
  query: { seq: number } | { last_by_subj: string },
): Promise<StoredMsg | undefined> {
  try {
    return await manager.streams.getMessage(stream, query);
  } catch (error) {
    if (jetStreamErrorCode(error) === NO_MESSAGE) return undefined;
    throw error;
  }
}

/** Attempts to read the last message: a newer one may replace it between the two requests. */
const READ_ATTEMPTS = 5;

/**
 * Finds the last message of a subject; undefined when there is none. Throws where NATS counts one
 * and does not return it, as a disk has damaged it: it would accept the next as the first.
 */
export async function findLast(
  manager: JetStreamManager,
  stream: string,
  subject: string,
): Promise<StoredMsg | undefined> {
  for (let attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
    const message = await findMessage(manager, stream, { last_by_subj: subject });
    if (message !== undefined) return message;
    const { state } = await manager.streams.info(stream, { subjects_filter: subject });
    if (state.subjects?.[subject] === undefined) return undefined;
  }
  throw new Error("NATS has it and does not return it: a part of its data is damaged");
}

/**
 * Whether NATS returns the last message of a stream, or it has none. When a disk has damaged a
 * block, nats-server 2.9 still accepts messages but returns none after the damage. The user must be
 * permitted to read messages.
 */
export async function isReadable(manager: JetStreamManager, stream: string): Promise<boolean> {
  for (let attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
    const { state } = await manager.streams.info(stream);
    if (state.messages === 0) return true;
    if ((await findMessage(manager, stream, { seq: state.last_seq })) !== undefined) return true;
  }
  return false;
}

/**
 * Empties a stream that cannot be read, as all that is published into a damaged block is lost.
 * Returns whether it did.
 */
export async function emptyIfDamaged(
  manager: JetStreamManager,
  stream: string,
  log: Log,
): Promise<boolean> {
  if (await isReadable(manager, stream)) return false;
  log.error({ stream }, "stream_emptied");
  await manager.streams.purge(stream);
  return true;
}

/** Messages that are read at once: those with segments have the most bytes. */
const READ_AT_ONCE = PULL_SEGMENTS;

/**
 * The messages that a stream has now after a sequence and up to another one, oldest first. Throws
 * without the stream.
 */
export async function* readMessages(
  manager: JetStreamManager,
  stream: string,
  after = 0,
  upTo = Infinity,
): AsyncGenerator<StoredMsg, void, undefined> {
  const { first_seq, last_seq, messages } = (await manager.streams.info(stream)).state;
  if (messages === 0) return;
  const last = Math.min(last_seq, upTo);
  for (let first = Math.max(after + 1, first_seq); first <= last; first += READ_AT_ONCE) {
    const length = Math.min(READ_AT_ONCE, last - first + 1);
    const read = Array.from({ length }, (_, i) => findMessage(manager, stream, { seq: first + i }));
    for (const message of await Promise.all(read)) if (message !== undefined) yield message;
  }
}

/** Settles as a request to a stream does; undefined when there is no such stream. */
export async function unlessNoStream<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (jetStreamErrorCode(error) === STREAM_NOT_FOUND) return undefined;
    throw error;
  }
}

/** The error code of JetStream's API; undefined when the error is not an API error. */
export const jetStreamErrorCode = (error: unknown): number | undefined =>
  error instanceof NatsError ? error.api_error?.err_code : undefined;
