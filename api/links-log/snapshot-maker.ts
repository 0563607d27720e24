/**
 * Makes snapshots: for hosts that ask for one, and for the tail, which is truncated behind those
 * that are kept.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { JetStreamClient, JetStreamManager, NatsConnection } from "nats";

import { planTerm } from "../../shared/links-log/decisions.ts";
import type { Head } from "../../shared/links-log/entry.ts";
import { ensureSnapshotsStream, listSnapshots } from "../../shared/links-log/snapshot-stream.ts";
import { firstKept } from "../../shared/links-log/snapshot.ts";
import { findInTail, LINK_LOG_STREAM } from "../../shared/links-log/tail.ts";
import type { Log } from "../../shared/log.ts";
import type { Sql } from "../postgres.ts";
import type { LinksLogPublisher } from "./publisher.ts";
import { buildSnapshot } from "./snapshot-builder.ts";
import { removeOldSnapshots, storeSnapshot } from "./snapshot-writer.ts";
import { lockSnapshot, numberLog } from "./sql.ts";

/** Maximum time of a request to JetStream. */
const REQUEST_TIMEOUT_MS = 5_000;

export class SnapshotMaker {
  readonly #sql: Sql;
  readonly #publisher: LinksLogPublisher;
  readonly #replicas: number;
  readonly #log: Log;
  #isStopped = false;

  constructor(sql: Sql, publisher: LinksLogPublisher, replicas: number, log: Log) {
    this.#sql = sql;
    this.#publisher = publisher;
    this.#replicas = replicas;
    this.#log = log;
  }

  stop(): void {
    this.#isStopped = true;
  }

  /**
   * Makes a snapshot for a host that asks for one, with its last entry and its doubtful one. If
   * they are of a history that was lost, a term begins. Returns false when another process is
   * making one.
   */
  async answer(connection: NatsConnection, entries: readonly Head[]): Promise<boolean> {
    const unknown: Head[] = [];
    let head = await numberLog(this.#sql, undefined, false);
    for (const entry of entries) {
      head = await numberLog(this.#sql, undefined, false, entry);
      if (!head.isKnown) unknown.push(entry);
    }
    const above = planTerm(unknown, head);
    if (above !== undefined) {
      this.#log.warn({ term: above + 1 }, "links_log_term_asked_for");
      await numberLog(this.#sql, above, false);
    }
    return await this.make(connection);
  }

  /** Makes a snapshot, and truncates the tail behind it; false when another process makes one. */
  async make(connection: NatsConnection): Promise<boolean> {
    const options = { timeout: REQUEST_TIMEOUT_MS, checkAPI: false };
    const manager = await connection.jetstreamManager(options);
    const client = connection.jetstream({ timeout: REQUEST_TIMEOUT_MS });
    await ensureSnapshotsStream(manager, this.#replicas);
    return await this.#sql.begin(async (lock) => {
      if (!(await lockSnapshot(lock))) return false;
      await this.#store(client);
      await removeOldSnapshots(manager);
      await truncate(manager);
      return true;
    });
  }

  async #store(client: JetStreamClient): Promise<void> {
    const folder = mkdtempSync(join(tmpdir(), "shorthop-snapshot-"));
    try {
      const path = join(folder, "links.sqlite");
      const contents = await buildSnapshot(this.#sql, path, () => this.#isStopped);
      if (contents === undefined) return;
      // A host can use it only once its end is in the tail.
      if (!(await this.#publisher.publish())) throw new Error("The links log is not published.");
      const name = await storeSnapshot(client, path, contents);
      this.#log.info({ name, links: contents.links }, "links_snapshot_stored");
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
}

/** Removes entries from the tail that no host needs which takes a snapshot. */
async function truncate(manager: JetStreamManager): Promise<void> {
  const manifests = (await listSnapshots(manager)).map(({ manifest }) => manifest);
  const sequences = new Map<string, number | undefined>();
  for (const { start } of manifests) sequences.set(start.hash, await findInTail(manager, start));
  const first = firstKept(manifests, ({ hash }) => sequences.get(hash));
  if (first !== undefined) await manager.streams.purge(LINK_LOG_STREAM, { seq: first });
}
