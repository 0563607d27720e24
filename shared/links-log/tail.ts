/**
 * The tail of the links log: the stream with its last entries, all under one subject. A message
 * that no API process signed counts as if it were not there.
 */
import type { JetStreamManager, MsgHdrs, NatsConnection, StoredMsg } from "nats";

import { ensureStream, findMessage } from "../contracts/streams.ts";
import type { Uuid } from "../ids.ts";
import {
  comparePositions,
  decodeEntry,
  type Entry,
  formatHead,
  type Head,
  MESSAGE_BYTES_MAX,
  parseHead,
} from "./entries.ts";
import { entryStatement, type LogSigner, type LogVerifier } from "./signature.ts";

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

/**
 * Messages of strangers that a look for an entry passes over: each is a request. Behind more of
 * them, none is found.
 */
const STRANGERS_MAX = 100;

/** Messages that a look in the whole tail reads: a damaged block of NATS hides thousands. */
const READS_MAX = 2_000;

/** The headers of a message: hashes, a signature, and what its publisher expected. */
export const HEADERS_BYTES_MAX = 512;

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
    max_msg_size: MESSAGE_BYTES_MAX + HEADERS_BYTES_MAX,
    allow_direct: true,
  });

/** Whether the tail is long: so long that a snapshot is due, behind which it is truncated. */
export async function isLongTail(manager: JetStreamManager): Promise<boolean> {
  const { config, state } = await manager.streams.info(LINK_LOG_STREAM);
  const share = config.max_bytes > 0 ? LONG_TAIL_SHARE * config.max_bytes : LONG_TAIL_BYTES;
  return state.bytes > Math.min(share, LONG_TAIL_BYTES);
}

/** An entry, and the head that its publisher knew. */
export type TailEntry = Entry & { announced: Head };

/** Returns the headers of an entry's message. */
export function signEntry(
  signer: LogSigner,
  entry: Head & { database: Uuid },
  announced: Head,
): MsgHdrs {
  const headers = signer.sign(entryStatement(entry, announced));
  headers.set(HEAD_HEADER, formatHead(announced));
  return headers;
}

/** Decodes a message of the tail; undefined when it is no entry, or when nobody signed it. */
export function decodeMessage(
  verifier: LogVerifier,
  data: Uint8Array,
  headers: MsgHdrs | undefined,
): TailEntry | undefined {
  const announced = parseHead(headers?.get(HEAD_HEADER));
  const entry = announced === undefined ? undefined : decodeEntry(data);
  if (announced === undefined || entry === undefined) return undefined;
  if (!verifier.verify(entryStatement(entry, announced), headers)) return undefined;
  return { ...entry, announced };
}

/** The last entry of the tail, as the leader of its stream has it. */
export type LastEntry = {
  /** `foreign` where only strangers' messages were found. */
  entry: TailEntry | "empty" | "foreign";
  sequence: number;
  /** Messages of strangers after the entry. */
  strangers: number;
};

/** Reads the last message of the tail; undefined when it has none. */
export async function readLastMessage(
  manager: JetStreamManager,
): Promise<{ message: StoredMsg | undefined; sequence: number }> {
  const { state } = await manager.streams.info(LINK_LOG_STREAM);
  const message =
    state.messages === 0 ? undefined : await findMessage(manager, LINK_LOG_STREAM, LAST);
  return { message, sequence: message?.seq ?? state.last_seq };
}

/** Reads the end of the tail, again and again. */
export class TailReader {
  readonly #connection: NatsConnection;
  readonly #manager: JetStreamManager;
  readonly #verifier: LogVerifier;
  /** The session with NATS in which the tail had a message. */
  #session: string | undefined;

  constructor(connection: NatsConnection, manager: JetStreamManager, verifier: LogVerifier) {
    this.#connection = connection;
    this.#manager = manager;
    this.#verifier = verifier;
  }

  /** Reads the last entry. Throws when there is no stream. */
  async readLast(): Promise<LastEntry> {
    const { message, sequence } = await this.#findLastMessage();
    if (message === undefined) return { entry: "empty", sequence, strangers: 0 };
    const entry = decodeMessage(this.#verifier, message.data, message.header);
    if (entry !== undefined) return { entry, sequence, strangers: 0 };
    return await this.#lookBack(sequence);
  }

  /**
   * nats-server 2.9 ends when it is asked for a message of a stream that is being created. So a
   * stream that may be new is first asked whether it has any.
   */
  async #findLastMessage() {
    const { info } = this.#connection;
    const session = `${info?.server_id}.${info?.client_id}`;
    const isFilled = session === this.#session;
    this.#session = undefined;
    const message = isFilled ? await findMessage(this.#manager, LINK_LOG_STREAM, LAST) : undefined;
    const last =
      message === undefined
        ? await readLastMessage(this.#manager)
        : { message, sequence: message.seq };
    if (last.message !== undefined) this.#session = session;
    return last;
  }

  async #lookBack(sequence: number): Promise<LastEntry> {
    const { state } = await this.#manager.streams.info(LINK_LOG_STREAM);
    const strangersMax = Math.min(STRANGERS_MAX, sequence - state.first_seq + 1);
    for (let strangers = 1; strangers < strangersMax; strangers++) {
      const entry = await readEntry(this.#manager, this.#verifier, sequence - strangers);
      if (entry !== undefined) return { entry, sequence, strangers };
    }
    const entry = strangersMax < STRANGERS_MAX ? "empty" : "foreign";
    return { entry, sequence, strangers: strangersMax };
  }
}

/**
 * Finds where the tail goes on with a store that ends at an entry: the sequence of that entry, or
 * of the one that follows it; undefined if the tail has neither. Reads some twenty messages, as
 * positions ascend in the tail, and more where many are lost or are no entries. Where positions do
 * not ascend, as histories were lost, it may find nothing.
 */
export async function findInTail(
  manager: JetStreamManager,
  verifier: LogVerifier,
  entry: Head,
): Promise<number | undefined> {
  const { state } = await manager.streams.info(LINK_LOG_STREAM);
  // Parts of the tail in which it may be, the last one first.
  const parts = state.messages === 0 ? [] : [{ low: state.first_seq, high: state.last_seq }];
  for (let reads = 0; reads < READS_MAX;) {
    const part = parts.pop();
    if (part === undefined) return undefined;
    const { low, high } = part;
    const middle = Math.floor((low + high) / 2);
    const end = Math.min(high, middle + STRANGERS_MAX);
    let at = middle;
    let found = await readEntry(manager, verifier, at);
    while (found === undefined && at < end) found = await readEntry(manager, verifier, ++at);
    reads += at - middle + 1;
    if (found?.hash === entry.hash || found?.previous === entry.hash) return at;
    const side = found === undefined ? 0 : comparePositions(found, entry);
    // Where nothing can be read, it may be before that or after it.
    if ((found === undefined || side > 0) && low < middle) parts.push({ low, high: middle - 1 });
    if ((found === undefined || side <= 0) && at < high) parts.push({ low: at + 1, high });
  }
  return undefined;
}

async function readEntry(
  manager: JetStreamManager,
  verifier: LogVerifier,
  seq: number,
): Promise<TailEntry | undefined> {
  const message = await findMessage(manager, LINK_LOG_STREAM, { seq });
  return message && decodeMessage(verifier, message.data, message.header);
}

const LAST = { last_by_subj: LINK_LOG_SUBJECT };
