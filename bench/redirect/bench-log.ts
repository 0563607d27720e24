/**
 * A links log without PostgreSQL, in the place of API processes. It begins after nothing, so that a
 * host without links follows it from its start. Several programs may publish at once: as an API
 * process does, each goes on after what others have published.
 */
import { connect, type JetStreamClient, type JetStreamManager, type NatsConnection } from "nats";

import {
  findMessage,
  jetStreamErrorCode,
  WRONG_LAST_SEQUENCE,
} from "../../shared/contracts/streams.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import {
  decodeEntry,
  EMPTY_HEAD,
  ENTRY_BYTES_MAX,
  hashOf,
  type Head,
  HEARTBEAT_MS,
} from "../../shared/links-log/entries.ts";
import {
  ensureLinkLogStream,
  LINK_LOG_STREAM,
  LINK_LOG_SUBJECT,
  signEntry,
} from "../../shared/links-log/tail.ts";
import { natsLogin } from "../../shared/nats.ts";
import { encodeEntry, SIGNER } from "../../test/harness/links-log.ts";

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
    for (const states of bodies) while (!(await this.#send(states)));
  }

  /**
   * Publishes an entry; returns false if others have published meanwhile. Only one at a time: the
   * server would store the second of two after another program's in the place of the first.
   */
  async #send(states: readonly Uint8Array[]): Promise<boolean> {
    const end = (this.#end ??= await this.#readEnd());
    const { bytes, head } = encodeNext(end, states);
    try {
      await this.#client.publish(LINK_LOG_SUBJECT, bytes, {
        headers: signEntry(SIGNER, { database: end.database, ...head }, head),
        expect: { lastSequence: end.sequence },
      });
      this.#end = { ...end, head, sequence: end.sequence + 1 };
      return true;
    } catch (error) {
      this.#end = undefined;
      if (jetStreamErrorCode(error) === WRONG_LAST_SEQUENCE) return false;
      throw error;
    }
  }

  async #readEnd(): Promise<End> {
    const query = { last_by_subj: LINK_LOG_SUBJECT };
    const last = await findMessage(this.#manager, LINK_LOG_STREAM, query);
    if (last === undefined) return { database: newUuid(), head: EMPTY_HEAD, sequence: 0 };
    const entry = decodeEntry(last.data);
    if (entry === undefined) throw new Error("The tail does not end with an entry.");
    const { database, term, position, hash } = entry;
    return { database, head: { term, position, hash }, sequence: last.seq };
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

function encodeNext({ database, head }: End, states: readonly Uint8Array[]) {
  const term = Math.max(head.term, 1);
  const position = Math.max(head.position + 1, Date.now() * 1_000);
  const bytes = encodeEntry({ database, term, position, previous: head.hash }, states);
  return { bytes, head: { term, position, hash: hashOf(bytes) } };
}
