/**
 * Watches whether the stream `LIMITS` continues from its last known position. When NATS has lost
 * messages, ledgers allow clicks that were already used. Nothing is leased until every redirector
 * has had time to detect that and to report its used clicks again.
 */
import { NatsError } from "nats";

import { formatUuid, type Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { repeat } from "../../shared/repeat.ts";
import type { StreamPosition } from "./uses-file.ts";

/** Interval at which the stream's position is read. */
const INTERVAL_MS = 1_000;

/** Pause where NATS does not permit it, as in a remote region: the log would fill. */
const FORBIDDEN_MS = 60_000;

/** In this time after a reconnect others see a rollback of the stream: two readings. */
export const SETTLE_MS = 2_500;

/**
 * How long after a rollback of the stream all redirectors have to report their used clicks again.
 */
export const RESTORE_MS = 10_000;

/** A new leader may lag for a moment, so a rollback must show in this many consecutive readings. */
const SUSPICIONS = 3;

const UNAVAILABLE = "the stream LIMITS is not available";

type StreamReading = { created: string; state: { last_seq: number } };

/** The stream that is watched. */
export interface WatchedStream {
  connected(): boolean;
  readStream(): Promise<StreamReading>;
}

/** Where the position is kept while the process does not run. */
export interface PositionStore {
  readonly position: StreamPosition | undefined;
  writePosition(position: StreamPosition): void;
}

export interface LeaseConditions {
  /** Whether ledgers can be read and replaced. */
  isReady(): boolean;
  /** Whether clicks may also be leased. */
  isOpen(): boolean;
  /** The last known sequence, to be passed to `accepts` with the next published message. */
  known(): number;
  /** Whether a message has a later sequence than `known`; else the stream was rolled back. */
  accepts(sequence: number, known: number): boolean;
}

export class Continuity implements LeaseConditions {
  readonly #stream: WatchedStream;
  readonly #positions: PositionStore;
  readonly #onRollback: () => void;
  readonly #log: Log;
  readonly #clock: () => number;
  readonly #intervalMs: number;
  readonly #checks: { stop(): void };
  #position: StreamPosition | undefined;
  #problem: string | undefined = "not connected yet";
  /** When clicks may be leased, by the clock; Infinity while unknown. */
  #openAt = Infinity;
  #restoredAt = 0;
  #rollbacks = 0;
  #suspicions = 0;

  /** `onRollback` has used clicks reported again. Clock and interval are those of tests. */
  constructor(
    stream: WatchedStream,
    positions: PositionStore,
    onRollback: () => void,
    log: Log,
    { clock = () => performance.now(), intervalMs = INTERVAL_MS } = {},
  ) {
    this.#stream = stream;
    this.#positions = positions;
    this.#onRollback = onRollback;
    this.#log = log;
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#position = positions.position;
    this.#checks = repeat(() => this.#check());
  }

  isReady(): boolean {
    return this.#stream.connected() && this.#problem === undefined;
  }

  isOpen(): boolean {
    return this.isReady() && this.#clock() >= this.#openAt;
  }

  /** Why clicks may not be leased, in words; undefined when they may. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** How often a rollback of the stream was detected. */
  get rollbacks(): number {
    return this.#rollbacks;
  }

  known(): number {
    return this.#position?.sequence ?? 0;
  }

  accepts(sequence: number, known: number): boolean {
    if (sequence > known) return true;
    this.#reset(undefined);
    return false;
  }

  /**
   * The connection was lost, maybe only between two readings of the position: NATS may have been
   * rolled back when it returns.
   */
  interrupt(): void {
    this.#close("disconnected");
  }

  stop(): void {
    this.#checks.stop();
  }

  /** Reads the position; returns the delay until the next reading. */
  async #check(): Promise<number> {
    if (!this.#stream.connected()) {
      this.interrupt();
      return this.#intervalMs;
    }
    try {
      this.#apply(await this.#stream.readStream());
      return this.#intervalMs;
    } catch (error) {
      if (!this.#problem?.startsWith(UNAVAILABLE))
        this.#log.warn({ error }, "click_limits_unavailable");
      this.#close(`${UNAVAILABLE}: ${error instanceof Error ? error.message : String(error)}`);
      const isForbidden = error instanceof NatsError && error.isPermissionError();
      return isForbidden ? FORBIDDEN_MS : this.#intervalMs;
    }
  }

  #apply({ created, state }: StreamReading): void {
    const next = { stream: streamId(created), sequence: state.last_seq };
    const before = this.#position;
    const continues =
      before === undefined || (before.stream === next.stream && before.sequence <= next.sequence);
    if (!continues && ++this.#suspicions < SUSPICIONS) {
      this.#close("the stream LIMITS seems to be rolled back");
      return;
    }
    if (continues) this.#continue(next);
    else this.#reset(next);
    if (before?.stream !== next.stream || before.sequence !== next.sequence)
      this.#positions.writePosition(next);
  }

  #continue(next: StreamPosition): void {
    this.#suspicions = 0;
    this.#problem = undefined;
    if (this.#openAt === Infinity)
      this.#openAt = Math.max(this.#clock() + SETTLE_MS, this.#restoredAt);
    this.#position = next;
  }

  /** The stream was rolled back, to `next` if that is known. */
  #reset(next: StreamPosition | undefined): void {
    this.#rollbacks++;
    this.#suspicions = 0;
    this.#problem = undefined;
    this.#position = next;
    this.#restoredAt = this.#clock() + RESTORE_MS;
    this.#openAt = this.#restoredAt;
    this.#log.warn({ set_backs: this.#rollbacks }, "click_limits_set_back");
    this.#onRollback();
  }

  /** Stops leasing, for a reason. */
  #close(reason: string): void {
    this.#problem = reason;
    this.#openAt = Infinity;
  }
}

/** An id derived from the stream's creation time: a recreated stream has another one. */
const streamId = (created: string): Uuid =>
  formatUuid(new Bun.CryptoHasher("md5").update(created).digest("hex"));
