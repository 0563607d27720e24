/**
 * Follows the links log and writes it to the store of the host. An entry is applied only on top of
 * the entry before it. Where entries are missing, or the store is of a history that was lost, later
 * states are written to it nevertheless, so that a takedown works at once; and the store says that
 * it needs a snapshot (`lacksEntries`).
 */
import {
  type ConsumerInfo,
  DeliverPolicy,
  type JetStreamManager,
  type JsMsg,
  type NatsConnection,
  type StreamInfo,
} from "nats";

import { decodeLinkKey, decodeLinkRecord } from "../../shared/contracts/link-record.ts";
import { isNotice } from "../../shared/contracts/notices.ts";
import {
  findMessage,
  jetStreamErrorCode,
  SHORT_REQUESTS,
  STREAM_NOT_FOUND,
} from "../../shared/contracts/streams.ts";
import {
  advance,
  advanceEnd,
  decideStep,
  EMPTY_HEAD,
  type Entry,
  ENTRY_FORMAT,
  hashOf,
  type Head,
  isCurrent,
  lacksEntries,
  otherFormatOf,
  type TailEnd,
} from "../../shared/links-log/entries.ts";
import type { LogVerifier } from "../../shared/links-log/signature.ts";
import { decodeMessage, HEARTBEAT_REQUESTS, LINK_LOG_STREAM } from "../../shared/links-log/tail.ts";
import {
  type Change,
  type SkippedReason,
  toChange,
  toMalformed,
} from "../../shared/links-store/schema.ts";
import { LimitedLog, type Log } from "../../shared/log.ts";
import type { Nats } from "../../shared/nats.ts";
import { isDamage } from "./store-files.ts";
import type { LogStore, Written } from "./store.ts";
import { addConsumer, StreamPull } from "./stream-pull.ts";

/** Pause after following was interrupted. */
const RETRY_MS = 100;

/**
 * Pause while there is no tail yet: nats-server 2.9 ends when it is asked for a stream in the
 * moment in which that is created.
 */
const NO_TAIL_RETRY_MS = 1_000;

/** A failure of the store, not of NATS. */
class LogStoreError extends Error {
  override name = "LogStoreError";
}

/** One consumer of the tail: messages that were published since it began are new. */
type Session = {
  consumer: ConsumerInfo;
  /** When the stream was created, which identifies it. */
  created: string;
  /** The last sequence of the tail when the session began. */
  since: number;
  /** Whether it began with the first message of the tail, so that nothing before was left out. */
  isWhole: boolean;
  delivered: number;
};

/** The links log as a host reads it: from NATS, and only what a known key signed. */
export type LogSource = { nats: Nats; verifier: LogVerifier; log: Log };

export class LogFollower {
  readonly #source: LogSource;
  readonly store: LogStore;
  readonly #skippedLog: LimitedLog;
  /** States that are read and not written yet, and what the store has of the log after them. */
  #changes: Change[] = [];
  #state: Written;
  /** The last message that was read, and the last one whose entry is in the store. */
  #end: TailEnd | undefined;
  #written: TailEnd | undefined;
  #awaited: Head | undefined;
  /** Whether the next session begins with the first message of the tail. */
  #fromStart = false;
  #refused: string | undefined;
  #pull: StreamPull | undefined;
  #isInterrupted = false;
  #isStopped = false;
  /** Settles when following ends; rejects when the store failed in a way that no retry mends. */
  readonly ended: Promise<void>;
  #hasFailed = false;

  /** `awaited` is the end of the snapshot that the store was made from. */
  constructor(source: LogSource, store: LogStore, awaited?: Head) {
    this.#source = source;
    this.store = store;
    this.#skippedLog = new LimitedLog(source.log, "links_log_skipped");
    this.#state = store.state;
    this.#awaited = awaited?.hash === store.state.head.hash ? undefined : awaited;
    this.ended = this.#run();
    this.ended.catch(() => (this.#hasFailed = true));
  }

  /** The last message that was read and written; undefined before the first one. */
  get end(): TailEnd | undefined {
    return this.#written;
  }

  get hasAwaited(): boolean {
    return this.#awaited === undefined;
  }

  /** The other database whose entry was the last one; undefined if it is the store's own. */
  get refused(): string | undefined {
    return this.#refused;
  }

  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** Writes nothing more from the call on, and closes the store. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#pull?.stop();
    await this.ended.catch(() => undefined);
    this.store[Symbol.dispose]();
  }

  async #run(): Promise<void> {
    const { nats, log } = this.#source;
    const connection = await nats.connection;
    while (!this.#isStopped) {
      this.store.check();
      try {
        if (nats.connected()) await this.#follow(connection);
      } catch (error) {
        // The loop would look again before the scrub is due, and go on.
        if (error instanceof LogStoreError || isDamage(error)) throw error;
        if (jetStreamErrorCode(error) === STREAM_NOT_FOUND) {
          await Bun.sleep(NO_TAIL_RETRY_MS);
          continue;
        }
        // Logged once for each interruption, not for each attempt.
        if (!this.#isInterrupted) log.warn({ error }, "links_log_interrupted");
        this.#isInterrupted = true;
      }
      if (!this.#isStopped) await Bun.sleep(RETRY_MS);
    }
  }

  /** Follows the tail until its consumer, or the place in it, is lost. */
  async #follow(connection: NatsConnection): Promise<void> {
    const { nats } = this.#source;
    const manager = await connection.jetstreamManager(SHORT_REQUESTS);
    const session = await this.#begin(manager);
    connection.publish(HEARTBEAT_REQUESTS);
    while (!this.#isStopped && nats.connected()) {
      this.store.check();
      const before = session.delivered;
      this.#pull = new StreamPull(connection, session.consumer, nats.inboxPrefix);
      if (!(await this.#read(this.#pull, session))) return;
      this.#isInterrupted = false;
      const info = await manager.streams.info(LINK_LOG_STREAM);
      if (!this.#continues(session, info)) return;
      // The tail has more, and the consumer delivered nothing: it is lost.
      if (session.delivered === before && info.state.last_seq > this.#state.sequence) return;
    }
  }

  /** Begins where the store ends, if the tail has that entry there, and else at its start. */
  async #begin(manager: JetStreamManager): Promise<Session> {
    const { created, state } = await manager.streams.info(LINK_LOG_STREAM);
    const { sequence } = this.store.state;
    const isWhole =
      this.#fromStart || state.messages === 0 || !(await this.#hasLast(manager, sequence));
    this.#fromStart = false;
    this.#end = undefined;
    this.#changes = [];
    // What the tail says may be old until something new is published.
    const start = isWhole ? 0 : sequence;
    const pending = Math.max(0, state.last_seq - start);
    this.#state = { ...this.store.state, sequence: start, pending, isCurrent: false };
    this.#flush();
    const consumer = await addConsumer(manager, LINK_LOG_STREAM, {
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: start + 1,
    });
    return { consumer, created, since: state.last_seq, isWhole, delivered: 0 };
  }

  /** Whether the tail has the last entry of the store at a sequence. */
  async #hasLast(manager: JetStreamManager, seq: number): Promise<boolean> {
    const message = seq === 0 ? undefined : await findMessage(manager, LINK_LOG_STREAM, { seq });
    return message !== undefined && hashOf(message.data) === this.store.state.written.hash;
  }

  /** Whether the stream is the one of the session, and has not come back older. */
  #continues({ created }: Session, info: StreamInfo): boolean {
    return created === info.created && info.state.last_seq >= this.#state.sequence;
  }

  /**
   * Writes the entries of a pull, in one transaction unless it reaches the end of the tail before.
   * Returns false when the session has to begin again.
   */
  async #read(pull: StreamPull, session: Session): Promise<boolean> {
    try {
      for await (const message of pull) {
        // Messages were lost with a connection or a pull.
        if (message.info.deliverySequence !== ++session.delivered) return false;
        if (!this.#take(message, session)) return false;
        if (message.info.pending === 0) this.#flush();
      }
      return true;
    } finally {
      // Also when the pull failed: the next one goes on after what it has brought.
      this.#flush();
    }
  }

  /** Takes a message; false when the tail has to be read from its start first. */
  #take(message: JsMsg, session: Session): boolean {
    const entry = decodeMessage(this.#source.verifier, message.data, message.headers);
    if (entry === undefined) this.#skipMessage(message);
    else {
      const isLater = message.seq > session.since;
      const isRepeated = entry.hash === this.#state.head.hash;
      if (!this.#apply(entry, session)) return false;
      this.#end = advanceEnd(this.#end, entry, { isLater, isRepeated });
    }
    const { pending } = message.info;
    const isAtHead = isCurrent(this.#state, this.#end);
    this.#state = {
      ...this.#state,
      sequence: message.seq,
      pending,
      isCurrent: isAtHead,
      isFilled: this.#state.isFilled || isAtHead || pending === 0,
    };
    return true;
  }

  #skipMessage({ data, seq: sequence }: JsMsg): void {
    const format = otherFormatOf(data);
    if (format === undefined)
      return this.#skip("unsigned", "A message is not signed.", { sequence });
    const text = `A message has the format ${format}; this version reads ${ENTRY_FORMAT}.`;
    this.#skip("other_format", text, { sequence });
  }

  #apply(entry: Entry, { isWhole }: Session): boolean {
    const step = decideStep(this.#state, entry);
    // Replicas may number messages differently, so what seems to be missing may be before the hint.
    if (step === "overwrite" && !lacksEntries(this.#state) && !isWhole) {
      this.#fromStart = true;
      return false;
    }
    this.#refused = step === "refuse" ? entry.database : undefined;
    if (step === "refuse")
      this.#skippedLog.error("database", new Error("Another database publishes."));
    if (step === "skip" || step === "refuse") return true;
    const { head } = this.#state;
    // A new host begins with nothing, and takes a snapshot: it has not missed anything.
    if (step === "overwrite" && !lacksEntries(this.#state) && head.position > EMPTY_HEAD.position)
      this.#source.log.error({ head, entry: entry.position }, "links_log_gap");
    this.#state = { ...this.#state, ...advance(this.#state, entry, step) };
    if (step === "apply" && entry.hash === this.#awaited?.hash) this.#awaited = undefined;
    for (const state of entry.states) this.#addChange(state, entry.position);
    return true;
  }

  #addChange(state: Uint8Array, position: number): void {
    const record = decodeLinkRecord(state);
    if (record !== undefined) return void this.#changes.push(toChange(record, state));
    const link = decodeLinkKey(state);
    // Without its state nobody knows whether the link exists. A notice stays as it was.
    if (link !== undefined && !isNotice(link)) this.#changes.push(toMalformed(link));
    this.#skip("malformed", "A state is malformed.", { position });
  }

  /** Counts and logs what is skipped: its place, but nothing of a state, which has a link. */
  #skip(reason: SkippedReason, text: string, place: Record<string, number>): void {
    const { skipped } = this.#state;
    this.#state = { ...this.#state, skipped: { ...skipped, [reason]: skipped[reason] + 1 } };
    this.#skippedLog.error(reason, new TypeError(text), place);
  }

  #flush(): void {
    if (this.#isStopped) return;
    if (this.#changes.length === 0 && this.#state === this.store.state) return;
    try {
      this.store.write(this.#changes, this.#state);
    } catch (error) {
      throw new LogStoreError("The links store was not written.", { cause: error });
    } finally {
      this.#changes = [];
    }
    this.#state = this.store.state;
    this.#written = this.#end;
  }
}
