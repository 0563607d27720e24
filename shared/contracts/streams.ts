/**
 * The two JetStream streams: `LINKS` carries the state of every short link to the redirectors,
 * `CLICKS` carries pages of clicks to the workers. Core settings need nats-server 2.9 alone.
 */
import {
  DiscardPolicy,
  type JetStreamManager,
  nanos,
  NatsError,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from "nats";

import { DEFAULT_DOMAIN, LINK_RECORD_BYTES_MAX } from "./link-record.ts";

export const LINKS_STREAM = "LINKS";
export const CLICKS_STREAM = "CLICKS";

/** Subject of every page of clicks. */
export const CLICKS_SUBJECT = "clicks.page";

/** The consumer that all workers share. */
export const CLICKS_WORKER = "worker";

/** Pages that can never be stored, kept for an operator to look at. */
export const DEAD_CLICKS_STREAM = "CLICKS_DLQ";
export const DEAD_CLICKS_SUBJECT = "clicks_dlq.page";

/** All subjects of the links feed. */
const LINKS_SUBJECTS = "links.>";

/** How long a page of clicks waits for a worker before it expires. */
const CLICKS_MAX_AGE_HOURS = 72;

/** An operator may choose less, but no less than leaves time to notice that no worker runs. */
const CLICKS_AGE_HOURS_MIN = 12;

/** How long JetStream remembers a page's id; the ClickHouse token catches what is older. */
const CLICKS_DUPLICATE_WINDOW_MINUTES = 60;

const MINUTE_MS = 60_000;

/** JetStream's error code for a stream that does not exist. */
const STREAM_NOT_FOUND = 10_059;

/** JetStream's error code for a stream name in use with another configuration. */
const STREAM_NAME_IN_USE = 10_058;

/**
 * The feed subject of a short link. Host names hold letters, digits, `-` and `.` alone, so writing
 * `.` as `_` keeps domains apart in one subject token; `_` by itself is the default domain.
 */
export const linkSubject = (domain: string, alias: string): string =>
  `links.${domain === DEFAULT_DOMAIN ? "_" : domain.replaceAll(".", "_")}.${alias}`;

/** Creates the links feed where it does not exist; an existing one is left as its operator set it. */
export const ensureLinksStream = (manager: JetStreamManager): Promise<void> =>
  ensureStream(manager, {
    name: LINKS_STREAM,
    description: "Last state of every short link",
    subjects: [LINKS_SUBJECTS],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.New,
    max_msgs_per_subject: 1,
    max_msg_size: LINK_RECORD_BYTES_MAX,
    allow_direct: true,
    // Updates carry versions and an expected sequence; the shortest window saves the server memory.
    duplicate_window: nanos(1_000),
  });

/**
 * Creates the stream of click pages where it does not exist. `discard: new` refuses pages when the
 * stream is full: redirectors then keep them in their journals, and nothing is silently deleted.
 * Throws when the one that exists could lose clicks silently.
 */
export async function ensureClicksStream(
  manager: JetStreamManager,
  bytesMax: number,
): Promise<void> {
  await ensureStream(manager, {
    name: CLICKS_STREAM,
    description: "Pages of clicks on their way to ClickHouse",
    subjects: [CLICKS_SUBJECT],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.New,
    max_age: nanos(CLICKS_MAX_AGE_HOURS * 60 * MINUTE_MS),
    max_bytes: bytesMax,
    duplicate_window: nanos(CLICKS_DUPLICATE_WINDOW_MINUTES * MINUTE_MS),
  });
  const { config } = await manager.streams.info(CLICKS_STREAM);
  const problem = clicksStreamProblem(config);
  if (problem !== undefined) {
    throw new Error(`The stream ${CLICKS_STREAM} must not be used: ${problem}.`);
  }
}

/** Why clicks could be lost in a stream, or counted twice, without anybody being told. */
export function clicksStreamProblem(config: StreamConfig): string | undefined {
  if (!config.subjects.includes(CLICKS_SUBJECT)) return `it does not take ${CLICKS_SUBJECT}`;
  if (config.storage !== StorageType.File) return "it keeps messages in memory alone";
  if (config.retention !== RetentionPolicy.Limits)
    return "it keeps messages for present readers alone";
  if (config.discard !== DiscardPolicy.New) return "it drops old messages when it is full";
  if (config.max_msgs_per_subject > 0) return "it drops messages beyond a number";
  const hours = config.max_age / nanos(60 * MINUTE_MS);
  if (hours > 0 && hours < CLICKS_AGE_HOURS_MIN) {
    return `it drops messages after ${hours} hours`;
  }
  if (config.duplicate_window < nanos(MINUTE_MS)) return "it forgets too soon what it was sent";
  return undefined;
}

/** Creates the stream of pages that were set aside, where it does not exist. Nothing there expires. */
export const ensureDeadClicksStream = (manager: JetStreamManager): Promise<void> =>
  ensureStream(manager, {
    name: DEAD_CLICKS_STREAM,
    description: "Pages of clicks that ClickHouse refused, with the reason",
    subjects: [DEAD_CLICKS_SUBJECT],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.New,
    duplicate_window: nanos(CLICKS_DUPLICATE_WINDOW_MINUTES * MINUTE_MS),
  });

async function ensureStream(
  manager: JetStreamManager,
  config: Partial<StreamConfig> & { name: string },
): Promise<void> {
  try {
    await manager.streams.info(config.name);
  } catch (error) {
    if (jetStreamErrorCode(error) !== STREAM_NOT_FOUND) throw error;
    try {
      await manager.streams.add(config);
    } catch (addError) {
      // Another process created it in between, perhaps with other operator settings: as good.
      if (jetStreamErrorCode(addError) !== STREAM_NAME_IN_USE) throw addError;
    }
  }
}

/** The error code JetStream's API answered with, when the error is one of its answers. */
export const jetStreamErrorCode = (error: unknown): number | undefined =>
  error instanceof NatsError ? error.api_error?.err_code : undefined;
