/** A links log of a test, its tail and its snapshots. */
import { Database } from "bun:sqlite";
import { afterAll, afterEach, beforeAll, beforeEach } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { headers, type JetStreamManager, type NatsConnection } from "nats";

import { storeSnapshot } from "../../api/links-snapshots/snapshot.ts";
import { storePath } from "../../redirector/links/store-files.ts";
import { LogStore } from "../../redirector/links/store.ts";
import { encodeLinkRecord } from "../../shared/contracts/link-record.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { EMPTY_HEAD, hashOf, type Head } from "../../shared/links-log/entries.ts";
import { ensureSnapshotsStream, SNAPSHOTS_STREAM } from "../../shared/links-log/snapshots.ts";
import {
  ensureLinkLogStream,
  LINK_LOG_STREAM,
  LINK_LOG_SUBJECT,
  signEntry,
} from "../../shared/links-log/tail.ts";
import { EMPTY_LOG, STORE_FORMAT, toChange } from "../../shared/links-store/schema.ts";
import { activeLink, encodeEntry, SIGNER } from "./links-log.ts";
import { startNats, type TestNats } from "./nats.ts";

/** An entry of the log. */
export type Written = Head & { database: Uuid; bytes: Uint8Array };

/** A log, as PostgreSQL has it. */
export class TestLog {
  readonly entries: Written[] = [];
  readonly database: string;
  #head: Head;

  constructor(database = newUuid(), head: Head = EMPTY_HEAD) {
    this.database = database;
    this.#head = head;
  }

  /** The same database as it was after an entry. */
  restoredTo(head: Head): TestLog {
    return new TestLog(this.database, head);
  }

  /** Adds an entry with the states of links: their aliases, or their bytes. */
  add(
    links: readonly (string | Uint8Array)[] = [],
    term = Math.max(this.#head.term, 1),
    position = Math.max(this.#head.position + 1, Date.now() * 1_000),
  ): Written {
    const header = { database: this.database, term, position, previous: this.#head.hash };
    const bytes = encodeEntry(
      header,
      links.map((link) => (typeof link === "string" ? stateOf(link, position) : link)),
    );
    const entry = { database: this.database, term, position, hash: hashOf(bytes), bytes };
    this.entries.push(entry);
    this.#head = entry;
    return entry;
  }
}

const stateOf = (alias: string, version: number) => encodeLinkRecord(activeLink(alias, version));

/** A NATS with the streams of the links log, and a folder for the stores of each test. */
export class TestTail {
  server!: TestNats;
  connection!: NatsConnection;
  manager!: JetStreamManager;
  dir!: string;

  /** Starts the server for the tests of a file; each test gets empty streams. */
  constructor() {
    beforeAll(async () => {
      this.server = await startNats();
      this.connection = await this.server.connect();
      // A request that was sent to a killed server is not repeated for that long.
      this.manager = await this.connection.jetstreamManager({ timeout: 500 });
    });
    afterAll(async () => {
      await this.connection.close();
      await this.server[Symbol.asyncDispose]();
    });
    beforeEach(async () => {
      this.dir = mkdtempSync(join(tmpdir(), "shorthop-links-"));
      await this.empty();
    });
    afterEach(() => rmSync(this.dir, { recursive: true }));
  }

  async empty(): Promise<void> {
    for (const name of [LINK_LOG_STREAM, SNAPSHOTS_STREAM])
      await this.manager.streams.delete(name).catch(() => undefined);
    await ensureLinkLogStream(this.manager, 1);
    await ensureSnapshotsStream(this.manager, 1);
  }

  /** Publishes entries as an API process does. */
  readonly publish = (...entries: readonly Written[]) => publishEntries(this.connection, entries);

  /** Publishes what a stranger wants, unsigned unless there are headers. */
  async intrude(subject: string, data: Uint8Array | string, signed = headers()): Promise<void> {
    const client = this.connection.jetstream({ timeout: 500 });
    await client.publish(subject, data, { headers: signed });
  }
}

/** Publishes entries, which announce the last of them. */
export async function publishEntries(
  connection: NatsConnection,
  entries: readonly Written[],
  signer = SIGNER,
): Promise<void> {
  const client = connection.jetstream({ timeout: 500 });
  for (const { bytes, ...entry } of entries) {
    const headers = signEntry(signer, entry, entries.at(-1) ?? EMPTY_HEAD);
    await client.publish(LINK_LOG_SUBJECT, bytes, { headers });
  }
}

/** Stores a snapshot with links, as an API process does; returns its name. */
export async function storeTestSnapshot(
  connection: NatsConnection,
  database: string,
  { start, end }: { start: Head; end: Head },
  aliases: readonly string[],
  signer = SIGNER,
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "shorthop-snapshot-"));
  try {
    {
      using file = new LogStore(folder, 0);
      const changes = aliases.map((alias) => toChange(activeLink(alias, 1)));
      file.write(changes, { ...EMPTY_LOG, database, head: start, written: start });
    }
    {
      // The file alone, as a builder writes it.
      using db = new Database(storePath(folder), { readwrite: true, create: false });
      db.run("PRAGMA wal_checkpoint(TRUNCATE)");
    }
    const contents = { format: STORE_FORMAT, database, start, end, links: aliases.length };
    return await storeSnapshot(connection.jetstream(), signer, storePath(folder), contents);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
