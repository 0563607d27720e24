/**
 * Publishes the links log: what was committed becomes entries in PostgreSQL, and these become
 * messages of the stream `LINK_LOG`, in the order of the log. Any number of API processes publish.
 * None holds a lock meanwhile: each message expects the last sequence of the stream, so of two
 * publishers one finds that the other was faster, and that nothing is left to do.
 *
 * A process may die, or lose an acknowledgement, at any point: the next run of any process goes on
 * after the last message of the stream. What comes back older, the stream or PostgreSQL, is noticed
 * there as well (`planPublication`).
 */
import type { JetStreamClient, JetStreamManager, Subscription } from "nats";

import { CoalescedCalls } from "../../shared/coalesced-calls.ts";
import {
  emptyIfDamaged,
  jetStreamErrorCode,
  SHORT_REQUESTS,
  STREAM_NOT_FOUND,
  WRONG_LAST_SEQUENCE,
} from "../../shared/contracts/streams.ts";
import {
  comparePositions,
  EMPTY_HEAD,
  type Entry,
  isHeartbeatDue,
  type Plan,
  planPublication,
  type Position,
} from "../../shared/links-log/entries.ts";
import type { LogSigner } from "../../shared/links-log/signature.ts";
import {
  ensureLinkLogStream,
  HEARTBEAT_REQUESTS,
  HEARTBEAT_REQUESTS_QUEUE,
  type LastEntry,
  LINK_LOG_STREAM,
  LINK_LOG_SUBJECT,
  signEntry,
  TailReader,
} from "../../shared/links-log/tail.ts";
import { LimitedLog, type Log } from "../../shared/log.ts";
import type { Nats } from "../../shared/nats.ts";
import { repeatEvery, type Repetition } from "../../shared/repeat.ts";
import { withTimeout } from "../../shared/timeout.ts";
import type { Sql } from "../postgres.ts";
import {
  acknowledgeEntries,
  type LogEntry,
  type LogHead,
  numberLog,
  readAcknowledged,
  selectEntries,
} from "./log.ts";

/** How long a request waits for the tail before it responds with `X-Propagation: pending`. */
const PUBLISH_TIMEOUT_MS = 2_000;

/** Pause before a request tries to publish again. */
const RETRY_MS = 50;

/** How often what dead publishers and commands left is looked for, and heartbeats that are due. */
const POLL_MS = 500;

/** Runs that begin again, as others published meanwhile, until a later poll takes over. */
const RACES_MAX = 20;

/**
 * Pause after a term was begun until this process begins another one: a tail that cannot be read,
 * or in which strangers write much, would have one at each poll, with a snapshot of each.
 */
const TERM_PAUSE_MS = 10_000;

/** How long messages of strangers are reported. */
const STRANGERS_REPORTED_MS = 600_000;

/** What API processes make the links log and its snapshots with. */
export type LogContext = {
  sql: Sql;
  nats: Nats;
  signer: LogSigner;
  /** Of the streams, if this process creates them. */
  replicas: number;
  log: Log;
  /** Records a failure, as those of requests are recorded. */
  noteFailure(error: unknown): void;
};

type JetStream = { client: JetStreamClient; manager: JetStreamManager; tail: TailReader };

/** Publishes what was committed; tests of changes alone need none of the rest. */
export interface LinksPublisher {
  /** Publishes everything that was committed before the call; false if that takes too long. */
  publish(): Promise<boolean>;
}

export class LinksLogPublisher implements LinksPublisher {
  readonly #context: LogContext;
  readonly #strangersLog: LimitedLog;
  #jetStream: JetStream | undefined;
  /** Links that were written together are published by one run, as their requests ask at once. */
  readonly #runs = new CoalescedCalls<void, void>(() => this.#run());
  /** The last entry that is known to have been in the tail, and the head at the last run. */
  #acknowledged: Position | undefined;
  /** The recording of it, one after the other. */
  #acknowledging: Promise<void> = Promise.resolve();
  #head: LogHead | undefined;
  #isSilent = false;
  /** When this process may begin a term, and when a message of a stranger was seen. */
  #termAt = -Infinity;
  #strangersAt = -Infinity;
  /** The last sequence of the tail, and since when it has been the last one. */
  #seen = { sequence: -1, at: 0 };
  /** Whether a host has asked for a heartbeat since the last one. */
  #isHeartbeatRequested = false;
  #isStopped = false;
  #requests: Subscription | undefined;
  #polling: Repetition | undefined;

  constructor(context: LogContext) {
    this.#context = context;
    this.#strangersLog = new LimitedLog(context.log, "links_log_unsigned");
    void this.#begin();
  }

  /** The end of the log at the last run; undefined before the first one. */
  get head(): LogHead | undefined {
    return this.#head;
  }

  /**
   * Whether PostgreSQL has no account and the tail is another database's: it is likely to be in the
   * place of the right one, and publishes nothing.
   */
  get isSilent(): boolean {
    return this.#isSilent;
  }

  /** Says that others write to the tail; undefined when they do not. */
  get warning(): string | undefined {
    if (performance.now() - this.#strangersAt > STRANGERS_REPORTED_MS) return undefined;
    return `somebody without a key of LINKS_PUBLIC_KEYS writes to ${LINK_LOG_STREAM}, or an API process has another LINKS_SIGNING_KEY`;
  }

  async publish(): Promise<boolean> {
    const deadline = performance.now() + PUBLISH_TIMEOUT_MS;
    for (;;) {
      try {
        await withTimeout(this.#runs.run(), deadline - performance.now());
        return true;
      } catch (error) {
        if (performance.now() + RETRY_MS >= deadline) {
          this.#context.log.warn({ error }, "links_log_publish_failed");
          return false;
        }
        await Bun.sleep(RETRY_MS);
      }
    }
  }

  /** Resolves when nothing is written any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#requests?.unsubscribe();
    const ended = this.#polling?.stop();
    // Before there is a connection, there is nothing to finish.
    if (this.#jetStream === undefined) return;
    await ended;
    await this.#acknowledging;
  }

  async #begin(): Promise<void> {
    const connection = await this.#context.nats.connection;
    if (this.#isStopped) return;
    this.#requests = connection.subscribe(HEARTBEAT_REQUESTS, {
      queue: HEARTBEAT_REQUESTS_QUEUE,
      callback: () => this.#requestHeartbeat(),
    });
    this.#polling = repeatEvery(POLL_MS, () => this.#runs.run(), {
      log: this.#context.log,
      failure: "links_log_poll_failed",
    });
  }

  /** Hosts that ask again before a heartbeat get the same one: a request alone costs nothing. */
  #requestHeartbeat(): void {
    if (this.#isHeartbeatRequested) return;
    this.#isHeartbeatRequested = true;
    this.#polling?.wake();
  }

  /** Publishes everything that was committed before the call. */
  async #run(): Promise<void> {
    try {
      const jetStream = (this.#jetStream ??= await this.#open());
      for (let races = 0; !(await this.#publishOnce(jetStream));)
        if (++races === RACES_MAX)
          throw new Error(`Lost ${RACES_MAX} races against other publishers.`);
    } catch (error) {
      this.#context.noteFailure(error);
      throw error;
    }
  }

  async #open(): Promise<JetStream> {
    // Those who ask would wait without an end for a server that has not been reached yet.
    if (!this.#context.nats.connected()) throw new Error("There is no connection to NATS.");
    const connection = await this.#context.nats.connection;
    const manager = await connection.jetstreamManager(SHORT_REQUESTS);
    await ensureLinkLogStream(manager, this.#context.replicas);
    this.#acknowledged ??= await readAcknowledged(this.#context.sql);
    const client = connection.jetstream(SHORT_REQUESTS);
    return { client, manager, tail: new TailReader(connection, manager, this.#context.signer) };
  }

  /**
   * Numbers what was committed and publishes what the tail lacks. Returns whether that was all; not
   * when another publisher was faster.
   */
  async #publishOnce(jetStream: JetStream): Promise<boolean> {
    // In this order: see `planPublication`.
    const acknowledged = this.#acknowledged;
    const last = await this.#readLast(jetStream);
    const numbered = await this.#number(last);
    const known = entryOf(last, numbered.database);
    this.#isSilent = numbered.isEmpty && (known === "foreign" || last.strangers > 0);
    if (this.#isSilent) return true;
    const plan = planPublication(acknowledged, known, numbered);
    // Another process has published it, or its acknowledgement was lost.
    if (plan.from === "last" && typeof known !== "string")
      this.#acknowledge(known, numbered.acknowledgedPosition);
    const { log } = this.#context;
    if (plan.above !== undefined && (await emptyIfDamaged(jetStream.manager, LINK_LOG_STREAM, log)))
      return false;
    const head = await this.#raise(plan, numbered);
    const start = startOf(plan, last, head);
    const isAll = await this.#send(jetStream.client, start, last.sequence, head);
    return isAll && !head.hasMore;
  }

  /** Reads the last entry; creates a stream that does not exist. */
  async #readLast({ manager, tail }: JetStream): Promise<LastEntry> {
    try {
      const last = await tail.readLast();
      const { strangers } = last;
      if (strangers > 0) {
        this.#strangersAt = performance.now();
        this.#strangersLog.error("strangers", new Error("Messages are not signed."), { strangers });
      }
      const sequence = last.sequence - strangers;
      if (sequence !== this.#seen.sequence) this.#seen = { sequence, at: performance.now() };
      return last;
    } catch (error) {
      if (jetStreamErrorCode(error) !== STREAM_NOT_FOUND) throw error;
      await ensureLinkLogStream(manager, this.#context.replicas);
      return { entry: "empty", sequence: 0, strangers: 0 };
    }
  }

  async #number({ entry }: LastEntry): Promise<LogHead> {
    const silentMs = performance.now() - this.#seen.at;
    const isDue =
      this.#head !== undefined &&
      isHeartbeatDue(this.#head, this.#acknowledged, silentMs, this.#isHeartbeatRequested);
    if (isDue) this.#isHeartbeatRequested = false;
    this.#head = await numberLog(this.#context.sql, {
      heartbeat: isDue,
      entry: typeof entry === "string" ? undefined : entry,
    });
    return this.#head;
  }

  /** Begins a term above that of a history that was lost, unless another publisher has. */
  async #raise({ above }: Plan, head: LogHead): Promise<LogHead> {
    if (above === undefined || head.term > above) return head;
    if (performance.now() < this.#termAt) throw new Error("A term began a moment ago.");
    this.#termAt = performance.now() + TERM_PAUSE_MS;
    this.#context.log.warn({ term: above + 1 }, "links_log_term_begins");
    this.#head = await numberLog(this.#context.sql, { above });
    return this.#head;
  }

  /** Publishes the entries after a position; false when the tail does not end where it did. */
  async #send(
    client: JetStreamClient,
    start: number,
    lastSequence: number,
    head: LogHead,
  ): Promise<boolean> {
    let sequence = lastSequence;
    let position = start;
    while (position < head.position) {
      const entries = await selectEntries(this.#context.sql, position);
      const end = entries.at(-1);
      if (end === undefined) return true;
      if (!(await this.#sendEntries(client, entries, sequence, head))) return false;
      sequence += entries.length;
      ({ position } = end);
      this.#acknowledge(end);
    }
    return true;
  }

  /**
   * Publishes entries after a sequence, all at once: if one is not stored, none after it is.
   * Returns false when the tail does not end there.
   */
  async #sendEntries(
    client: JetStreamClient,
    entries: readonly LogEntry[],
    lastSequence: number,
    head: LogHead,
  ): Promise<boolean> {
    const { database } = head;
    const outcomes = await Promise.allSettled(
      entries.map(({ bytes, ...entry }, i) =>
        client.publish(LINK_LOG_SUBJECT, bytes, {
          headers: signEntry(this.#context.signer, { ...entry, database }, head),
          expect: { lastSequence: lastSequence + i },
        }),
      ),
    );
    const failure = outcomes.find(({ status }) => status === "rejected");
    if (failure?.status !== "rejected") return true;
    if (jetStreamErrorCode(failure.reason) === WRONG_LAST_SEQUENCE) return false;
    throw failure.reason;
  }

  /**
   * Records what the tail has, unless PostgreSQL knows as much. Nobody waits for that: it is known
   * of the tail as well.
   */
  #acknowledge({ term, position }: Position, recorded = 0): void {
    const entry = { term, position };
    if (comparePositions(entry, this.#acknowledged ?? EMPTY_HEAD) > 0) this.#acknowledged = entry;
    if (position <= recorded) return;
    this.#acknowledging = this.#acknowledging
      .then(() => acknowledgeEntries(this.#context.sql, entry))
      .catch((error: unknown) => this.#context.log.warn({ error }, "links_log_not_acknowledged"));
  }
}

/** What {@link planPublication} takes: an entry of another database is foreign. */
const entryOf = ({ entry }: LastEntry, database: string): Entry | "empty" | "foreign" =>
  typeof entry === "string" || entry.database === database ? entry : "foreign";

/** The position after which entries are published. */
function startOf({ from }: Plan, { entry }: LastEntry, { acknowledgedPosition }: LogHead): number {
  if (from === "first") return 0;
  if (from === "unacknowledged" || typeof entry === "string") return acknowledgedPosition;
  return entry.position;
}
