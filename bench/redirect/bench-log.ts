/**
 * A links log without PostgreSQL, in the place of API processes. It begins after nothing, so that a
 * host without links follows it from its start. Several programs may publish at once: as an API
 * process does, each goes on after what others have published.
 */
import { connect, type JetStreamClient, type JetStreamManager, type NatsConnection } from "nats";

import {
  jetStreamErrorCode,
  NO_MESSAGE,
  WRONG_LAST_SEQUENCE,
} from "../../shared/contracts/streams.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { HEARTBEAT_MS } from "../../shared/links-log/decisions.ts";
import {
  decodeEntry,
  EMPTY_HEAD,
  ENTRY_BYTES_MAX,
  hashOf,
  type Head,
} from "../../shared/links-log/entry.ts";
import {
  ensureLinkLogStream,
  LINK_LOG_STREAM,
  LINK_LOG_SUBJECT,
  signEntry,
} from "../../shared/links-log/tail.ts";
import { natsLogin } from "../../shared/nats.ts";
import { encodeEntry, SIGNER } from "../../test/harness/links-log.ts";

/** Entries that are published at once, if the states are as many. */
const ENTRIES_AT_ONCE = 64;

/** What an entry has besides its states, generously. */
const HEADER_BYTES = 256;

const REQUEST_TIMEOUT_MS = 10_000;

/** The end of the tail. */
type End = { database: Uuid; head: Head; sequence: number };

export class BenchLog implements AsyncDisposable {
  readonly #connection: NatsConnection;
  readonly #manager: JetStreamManager;
  readonly #client: JetStreamClient;
  #end: End | undefined;
  #heartbeat: Timer | undefined;
  #last: Promise<void> = Promise.resolve();

  private constructor(connection: NatsConnection, manager: JetStreamManager) {
    this.#connection = connection;
    this.#manager = manager;
    this.#client = connection.jetstream({ timeout: REQUEST_TIMEOUT_MS });
  }

  static async open(url: string): Promise<BenchLog> {
    const connection = await connect(natsLogin(url));
    const manager = await connection.jetstreamManager({ timeout: REQUEST_TIMEOUT_MS });
    await ensureLinkLogStream(manager, 1);
    return new BenchLog(connection, manager);
  }

  /** Publishes heartbeats from now on, without which no host is current. */
  keepAlive(): this {
    this.#heartbeat ??= setInterval(() => void this.publish([]), HEARTBEAT_MS);
    return this;
  }

  /** Publishes states of links, or a heartbeat; resolves when the tail has them. */
  publish(states: readonly Uint8Array[]): Promise<void> {
    const published = this.#last.then(() => this.#publishAll(pack(states)));
    this.#last = published.catch(() => undefined);
    return published;
  }

  /** The last entry. */
  get head(): Head {
    return this.#end?.head ?? EMPTY_HEAD;
  }

  async #publishAll(bodies: readonly (readonly Uint8Array[])[]): Promise<void> {
    for (let done = 0; done < bodies.length;) {
      this.#end ??= await this.#readEnd();
      done += await this.#send(this.#end, bodies.slice(done, done + ENTRIES_AT_ONCE));
    }
  }

  /** Publishes entries; returns how many were stored, fewer when others have published as well. */
  async #send(end: End, bodies: readonly (readonly Uint8Array[])[]): Promise<number> {
    const entries = chain(end, bodies);
    const announced = entries.at(-1)?.head ?? end.head;
    const outcomes = await Promise.allSettled(
      entries.map(({ bytes, head }, i) =>
        this.#client.publish(LINK_LOG_SUBJECT, bytes, {
          headers: signEntry(SIGNER, { database: end.database, ...head }, announced),
          expect: { lastSequence: end.sequence + i },
        }),
      ),
    );
    const failed = outcomes.findIndex(({ status }) => status === "rejected");
    const stored = failed < 0 ? entries.length : failed;
    const outcome = outcomes[failed];
    if (
      outcome?.status === "rejected" &&
      jetStreamErrorCode(outcome.reason) !== WRONG_LAST_SEQUENCE
    )
      throw outcome.reason;
    const head = entries[stored - 1]?.head ?? end.head;
    this.#end = failed < 0 ? { ...end, head, sequence: end.sequence + stored } : undefined;
    return stored;
  }

  async #readEnd(): Promise<End> {
    try {
      const query = { last_by_subj: LINK_LOG_SUBJECT };
      const { seq, data } = await this.#manager.streams.getMessage(LINK_LOG_STREAM, query);
      const entry = decodeEntry(data);
      if (entry === undefined) throw new Error("The tail does not end with an entry.");
      const { database, term, position, hash } = entry;
      return { database, head: { term, position, hash }, sequence: seq };
    } catch (error) {
      if (jetStreamErrorCode(error) !== NO_MESSAGE) throw error;
      return { database: newUuid(), head: EMPTY_HEAD, sequence: 0 };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#heartbeat);
    await this.#last;
    await this.#connection.close();
  }
}

/** Distributes states among entries; at least one entry. */
function pack(states: readonly Uint8Array[]): Uint8Array[][] {
  const bodies: Uint8Array[][] = [[]];
  let bytes = HEADER_BYTES;
  for (const state of states) {
    const body = bodies.at(-1);
    if (body === undefined || (body.length > 0 && bytes + state.length > ENTRY_BYTES_MAX)) {
      bodies.push([state]);
      bytes = HEADER_BYTES;
    } else body.push(state);
    bytes += state.length + 1;
  }
  return bodies;
}

function chain(end: End, bodies: readonly (readonly Uint8Array[])[]) {
  let { head } = end;
  return bodies.map((states) => {
    const term = Math.max(head.term, 1);
    const position = Math.max(head.position + 1, Date.now() * 1_000);
    const previous = head.hash;
    const bytes = encodeEntry({ database: end.database, term, position, previous }, states);
    head = { term, position, hash: hashOf(bytes) };
    return { bytes, head };
  });
}
