/** The tail of the links log: the stream with its last entries, all under one subject. */
import {
  DiscardPolicy,
  type JetStreamManager,
  nanos,
  RetentionPolicy,
  StorageType,
  type StoredMsg,
} from "nats";

import { ensureStream, jetStreamErrorCode, NO_MESSAGE } from "../contracts/streams.ts";
import {
  comparePositions,
  decodeEntry,
  type Entry,
  type Head,
  MESSAGE_BYTES_MAX,
} from "./entry.ts";

export const LINK_LOG_STREAM = "LINK_LOG";
export const LINK_LOG_SUBJECT = "link_log.entry";

/**
 * The subject on which a host that begins to follow the tail asks for a heartbeat, an empty message
 * of plain NATS: what the tail says may be old until something new is published.
 */
export const HEARTBEAT_REQUESTS = "link_heartbeat_requests";

/** The API processes share the requests: each goes to one of them. */
export const HEARTBEAT_REQUESTS_QUEUE = "api";

/** The header of a message with the head that its publisher knew: whether more follows it. */
export const HEAD_HEADER = "Shorthop-Head";

/** Bytes of the tail from which it is truncated behind a new snapshot. */
export const LONG_TAIL_BYTES = 1024 ** 3;

/** Share of its maximum size from which it is, if an operator has set one that is smaller. */
const LONG_TAIL_SHARE = 0.5;

/** The headers of an entry's message have a head, and what its publisher expected. */
const HEADERS_BYTES_MAX = 512;

/**
 * Creates the stream unless it exists. Each publish expects the last sequence, so the stream never
 * needs to recognise a duplicate. A full stream refuses entries: the tail is truncated only behind
 * a snapshot.
 */
export const ensureLinkLogStream = (manager: JetStreamManager, replicas: number): Promise<void> =>
  ensureStream(manager, {
    num_replicas: replicas,
    name: LINK_LOG_STREAM,
    description: "The last entries of the links log",
    subjects: [LINK_LOG_SUBJECT],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.New,
    max_msg_size: MESSAGE_BYTES_MAX + HEADERS_BYTES_MAX,
    allow_direct: true,
    duplicate_window: nanos(1_000),
  });

/** Whether the tail is long: so long that a snapshot is due, behind which it is truncated. */
export async function isLongTail(manager: JetStreamManager): Promise<boolean> {
  const { config, state } = await manager.streams.info(LINK_LOG_STREAM);
  const share = config.max_bytes > 0 ? LONG_TAIL_SHARE * config.max_bytes : LONG_TAIL_BYTES;
  return state.bytes > Math.min(share, LONG_TAIL_BYTES);
}

/** The last message of the tail, as the leader of its stream has it, and its sequence. */
export type TailMessage = { message: StoredMsg | undefined; sequence: number };

/**
 * Reads the last message of the tail; undefined when it has none. First looks whether it has any:
 * nats-server 2.9 ends when it is asked for a message of a stream that is being created.
 */
export async function readLastMessage(manager: JetStreamManager): Promise<TailMessage> {
  const { state } = await manager.streams.info(LINK_LOG_STREAM);
  const none = { message: undefined, sequence: state.last_seq };
  if (state.messages === 0) return none;
  try {
    const query = { last_by_subj: LINK_LOG_SUBJECT };
    const message = await manager.streams.getMessage(LINK_LOG_STREAM, query);
    return { message, sequence: message.seq };
  } catch (error) {
    if (jetStreamErrorCode(error) === NO_MESSAGE) return none;
    throw error;
  }
}

/**
 * Finds where the tail goes on with a store that ends at an entry: the sequence of that entry, or
 * of the one that follows it; undefined if the tail has neither. Reads some twenty messages, as
 * positions ascend in the tail. Where they do not, as histories were lost, it may find nothing.
 */
export async function findInTail(
  manager: JetStreamManager,
  entry: Head,
): Promise<number | undefined> {
  const { state } = await manager.streams.info(LINK_LOG_STREAM);
  if (state.messages === 0) return undefined;
  let [low, high] = [state.first_seq, state.last_seq];
  while (low <= high) {
    const middle = Math.floor((low + high) / 2);
    const found = await readEntry(manager, middle);
    if (found?.hash === entry.hash || found?.previous === entry.hash) return middle;
    if (found !== undefined && comparePositions(found, entry) > 0) high = middle - 1;
    else low = middle + 1;
  }
  return undefined;
}

async function readEntry(manager: JetStreamManager, seq: number): Promise<Entry | undefined> {
  try {
    return decodeEntry((await manager.streams.getMessage(LINK_LOG_STREAM, { seq })).data);
  } catch (error) {
    if (jetStreamErrorCode(error) === NO_MESSAGE) return undefined;
    throw error;
  }
}
