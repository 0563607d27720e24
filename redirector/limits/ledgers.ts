/**
 * Reads and replaces ledgers of limits in the stream `LIMITS`. Each replacement is a
 * compare-and-set.
 */
import type { JetStreamClient, JetStreamManager, ServerInfo } from "nats";

import {
  decodeLedger,
  EMPTY_LEDGER,
  encodeLedger,
  type Ledger,
} from "../../shared/contracts/click-limits.ts";
import {
  ensureLimitsStream,
  findLast,
  jetStreamErrorCode,
  LIMITS_STREAM,
  limitSubject,
  SHORT_REQUESTS,
  WRONG_LAST_SEQUENCE,
} from "../../shared/contracts/streams.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { Nats } from "../../shared/nats.ts";
import type { WatchedStream } from "./continuity.ts";

/** A ledger and the sequence of its message; 0 for none. */
type StoredLedger = { ledger: Ledger; sequence: number };

/** Where ledgers are. */
export interface LedgerStore {
  read(limit: Uuid): Promise<StoredLedger>;
  /**
   * Replaces the ledger that was read. Returns the sequence of its message; undefined when another
   * redirector replaced it first. After an error the outcome is unknown.
   */
  replace(limit: Uuid, ledger: Ledger, sequence: number): Promise<number | undefined>;
}

export class Ledgers implements LedgerStore, WatchedStream {
  readonly #nats: Nats;
  readonly #replicas: number;
  #opened: { client: JetStreamClient; manager: JetStreamManager } | undefined;
  #unreadable: { limit: Uuid; error: unknown } | undefined;

  /** `replicas` is the stream's replica count, if this process creates it. */
  constructor(nats: Nats, replicas: number) {
    this.#nats = nats;
    this.#replicas = replicas;
  }

  async read(limit: Uuid): Promise<StoredLedger> {
    const { manager } = await this.#open();
    try {
      const message = await findLast(manager, LIMITS_STREAM, limitSubject(limit));
      const stored =
        message === undefined
          ? { ledger: EMPTY_LEDGER, sequence: 0 }
          : { ledger: decodeLedger(message.data), sequence: message.seq };
      if (this.#unreadable?.limit === limit) this.#unreadable = undefined;
      return stored;
    } catch (error) {
      this.#unreadable = { limit, error };
      throw error;
    }
  }

  /** Describes the ledger that could not be read last; undefined for none. */
  get problem(): string | undefined {
    if (this.#unreadable === undefined) return undefined;
    const { limit, error } = this.#unreadable;
    return `the ledger ${limit} in the stream LIMITS cannot be read (${String(error)}), and its link is 503: docs/runbook.md#shorthopwarning`;
  }

  async replace(limit: Uuid, ledger: Ledger, sequence: number): Promise<number | undefined> {
    const { client } = await this.#open();
    try {
      const expect = { lastSubjectSequence: sequence, streamName: LIMITS_STREAM };
      return (await client.publish(limitSubject(limit), encodeLedger(ledger), { expect })).seq;
    } catch (error) {
      if (jetStreamErrorCode(error) === WRONG_LAST_SEQUENCE) return undefined;
      throw error;
    }
  }

  connected(): boolean {
    return this.#nats.connected();
  }

  /**
   * Creates the stream if it is missing, and reads its state, and again the ledger that could not
   * be read: it may have been mended.
   */
  async readStream() {
    const { manager } = await this.#open();
    requireConsistentSequences((await this.#nats.connection).info);
    await ensureLimitsStream(manager, this.#replicas);
    if (this.#unreadable !== undefined)
      await this.read(this.#unreadable.limit).catch(() => undefined);
    return await manager.streams.info(LIMITS_STREAM);
  }

  /** Throws without a connection: the client would buffer requests, and without a bound. */
  async #open() {
    if (!this.connected()) throw new Error("There is no connection to NATS.");
    const connection = await this.#nats.connection;
    return (this.#opened ??= {
      client: connection.jetstream(SHORT_REQUESTS),
      manager: await connection.jetstreamManager(SHORT_REQUESTS),
    });
  }
}

/**
 * Throws in a cluster of nats-server 2.9: after a failed compare-and-set, its replicas may number
 * their messages differently (decision 17), and the next one would compare with the wrong message.
 */
function requireConsistentSequences(info: ServerInfo | undefined): void {
  if (info?.cluster !== undefined && /^[01]\.|^2\.[0-9]\./.test(info.version))
    throw new Error("click limits in a cluster need nats-server 2.10");
}
