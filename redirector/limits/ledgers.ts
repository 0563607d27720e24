/**
 * Reads and replaces ledgers of limits in the stream `LIMITS`. Each replacement is a
 * compare-and-set.
 */
import type {
  JetStreamClient,
  JetStreamManager,
  NatsConnection,
  ServerInfo,
  StreamInfo,
} from "nats";

import {
  decodeLedger,
  EMPTY_LEDGER,
  encodeLedger,
  type Ledger,
} from "../../shared/contracts/click-limits.ts";
import {
  ensureLimitsStream,
  jetStreamErrorCode,
  LIMITS_STREAM,
  limitSubject,
  NO_MESSAGE,
  WRONG_LAST_SEQUENCE,
} from "../../shared/contracts/streams.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { Nats } from "../../shared/nats.ts";

/** As for the links log: during an election a short timeout finds the new leader soon. */
const REQUEST_TIMEOUT_MS = 500;

/** A ledger and the sequence of its message; 0 for none. */
type StoredLedger = { ledger: Ledger; sequence: number };

export type Ledgers = {
  read(limit: Uuid): Promise<StoredLedger>;
  /**
   * Replaces the ledger that was read. Returns the sequence of its message; undefined when another
   * redirector replaced it first. After an error the outcome is unknown.
   */
  replace(limit: Uuid, ledger: Ledger, sequence: number): Promise<number | undefined>;
  /** Creates the stream if it is missing, and reads its state. */
  readStream(): Promise<StreamInfo>;
};

/** Opens the ledgers; `replicas` is the stream's replica count, if this process creates it. */
export function openLedgers(
  nats: Pick<Nats, "connection" | "connected">,
  replicas: number,
): Ledgers {
  let opened: { client: JetStreamClient; manager: JetStreamManager } | undefined;

  async function open() {
    const connection = await requireConnection(nats);
    const options = { timeout: REQUEST_TIMEOUT_MS, checkAPI: false };
    return (opened ??= {
      client: connection.jetstream(options),
      manager: await connection.jetstreamManager(options),
    });
  }

  return {
    async read(limit) {
      const { manager } = await open();
      try {
        // The leader has every acknowledged message; a replica may lag.
        const { data, seq } = await manager.streams.getMessage(LIMITS_STREAM, {
          last_by_subj: limitSubject(limit),
        });
        return { ledger: decodeLedger(data), sequence: seq };
      } catch (error) {
        if (jetStreamErrorCode(error) !== NO_MESSAGE) throw error;
        return { ledger: EMPTY_LEDGER, sequence: 0 };
      }
    },
    async replace(limit, ledger, sequence) {
      const { client } = await open();
      try {
        const expect = { lastSubjectSequence: sequence, streamName: LIMITS_STREAM };
        return (await client.publish(limitSubject(limit), encodeLedger(ledger), { expect })).seq;
      } catch (error) {
        if (jetStreamErrorCode(error) === WRONG_LAST_SEQUENCE) return undefined;
        throw error;
      }
    },
    async readStream() {
      const { manager } = await open();
      requireConsistentSequences((await nats.connection).info);
      await ensureLimitsStream(manager, replicas);
      return await manager.streams.info(LIMITS_STREAM);
    },
  };
}

/** The client would buffer requests without a connection, and without a bound. */
async function requireConnection(
  nats: Pick<Nats, "connection" | "connected">,
): Promise<NatsConnection> {
  if (!nats.connected()) throw new Error("There is no connection to NATS.");
  return await nats.connection;
}

/**
 * Throws in a cluster of nats-server 2.9: after a failed compare-and-set, its replicas may number
 * their messages differently (decision 17), and the next one would compare with the wrong message.
 */
function requireConsistentSequences(info: ServerInfo | undefined): void {
  if (info?.cluster !== undefined && /^[01]\.|^2\.[0-9]\./.test(info.version))
    throw new Error("click limits in a cluster need nats-server 2.10");
}
