/**
 * What the links log has of links: entries and states in PostgreSQL, the tail and the snapshots in
 * NATS. An erasure deletes what there is of them, of all accounts: hosts take all links again.
 */
import type { JetStreamManager, NatsConnection } from "nats";

import type { LogSigner } from "../../shared/links-log/signature.ts";
import { listSnapshots, SNAPSHOTS_STREAM } from "../../shared/links-log/snapshots.ts";
import { LINK_LOG_STREAM } from "../../shared/links-log/tail.ts";
import { numberAll } from "../links-log/log.ts";
import { resyncHosts } from "../links-snapshots/hosts.ts";
import type { Sql } from "../postgres.ts";
import { countEntries, forgetEntries } from "./sql.ts";

/** As many as are kept. */
const SNAPSHOTS_MADE = 2;

export class LinkTraces {
  readonly #sql: Sql;
  readonly #manager: JetStreamManager;
  readonly #signer: LogSigner;
  /** The last entry in PostgreSQL, that of the tail, and the snapshots, when they were noted. */
  readonly #position: number;
  readonly #sequence: number;
  readonly #snapshots: ReadonlySet<string>;

  private constructor(
    sql: Sql,
    manager: JetStreamManager,
    signer: LogSigner,
    noted: { position: number; sequence: number; snapshots: ReadonlySet<string> },
  ) {
    this.#sql = sql;
    this.#manager = manager;
    this.#signer = signer;
    this.#position = noted.position;
    this.#sequence = noted.sequence;
    this.#snapshots = noted.snapshots;
  }

  /** Notes what there is now. */
  static async note(sql: Sql, nats: NatsConnection, signer: LogSigner): Promise<LinkTraces> {
    const manager = await nats.jetstreamManager();
    const { position } = await numberAll(sql);
    const snapshots = await listSnapshots(manager, signer);
    const { state } = await manager.streams.info(LINK_LOG_STREAM);
    return new LinkTraces(sql, manager, signer, {
      position,
      sequence: state.last_seq,
      snapshots: new Set(snapshots.map(({ name }) => name)),
    });
  }

  /**
   * Ends the history that hosts have, as often as snapshots are kept; with each snapshot the API
   * cuts the tail off behind the older of these.
   */
  async replace(): Promise<void> {
    for (let i = 0; i < SNAPSHOTS_MADE; i++)
      await resyncHosts(this.#sql, this.#manager, this.#signer);
  }

  /** Forgets the entries in PostgreSQL, and counts what is left of what was noted. */
  async count(): Promise<Record<string, number>> {
    await forgetEntries(this.#sql, this.#position);
    const { state } = await this.#manager.streams.info(LINK_LOG_STREAM);
    const stored = await listSnapshots(this.#manager, this.#signer);
    return {
      link_log: await countEntries(this.#sql, this.#position),
      [LINK_LOG_STREAM]: Math.max(0, this.#sequence - state.first_seq + 1),
      [SNAPSHOTS_STREAM]: stored.filter(({ name }) => this.#snapshots.has(name)).length,
    };
  }
}
