/** A links log of a test, its tail and its snapshots. */
import { Database } from "bun:sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { headers, type NatsConnection } from "nats";

import { storeSnapshot } from "../../api/links-snapshots/snapshot-writer.ts";
import { LogStore } from "../../redirector/links/log-store.ts";
import { storePath } from "../../redirector/links/store-files.ts";
import { encodeLinkRecord } from "../../shared/contracts/link-record.ts";
import { newUuid } from "../../shared/ids.ts";
import {
  EMPTY_HEAD,
  encodeEntry,
  formatHead,
  hashOf,
  type Head,
} from "../../shared/links-log/entry.ts";
import { HEAD_HEADER, LINK_LOG_SUBJECT } from "../../shared/links-log/tail.ts";
import { EMPTY_LOG } from "../../shared/links-store/log-state.ts";
import { STORE_FORMAT, toChange } from "../../shared/links-store/schema.ts";
import { activeLink } from "./link-record.ts";

/** An entry of the log. */
export type Written = Head & { bytes: Uint8Array };

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
    const entry = { term, position, hash: hashOf(bytes), bytes };
    this.entries.push(entry);
    this.#head = entry;
    return entry;
  }
}

const stateOf = (alias: string, version: number) => encodeLinkRecord(activeLink(alias, version));

/** Publishes entries, which announce the last of them. */
export async function publishEntries(
  connection: NatsConnection,
  entries: readonly Written[],
): Promise<void> {
  for (const { bytes } of entries) {
    const announced = headers();
    announced.set(HEAD_HEADER, formatHead(entries.at(-1) ?? EMPTY_HEAD));
    await connection
      .jetstream({ timeout: 500 })
      .publish(LINK_LOG_SUBJECT, bytes, { headers: announced });
  }
}

/** Stores a snapshot with links, as an API process does; returns its name. */
export async function storeTestSnapshot(
  connection: NatsConnection,
  database: string,
  { start, end }: { start: Head; end: Head },
  aliases: readonly string[],
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "shorthop-snapshot-"));
  try {
    {
      using file = new LogStore(folder, 0);
      const changes = aliases.map((alias) => {
        const record = activeLink(alias, 1);
        return toChange(record, encodeLinkRecord(record));
      });
      file.write(changes, { ...EMPTY_LOG, database, head: start, written: start });
    }
    {
      // The file alone, as a builder writes it.
      using db = new Database(storePath(folder), { readwrite: true, create: false });
      db.run("PRAGMA wal_checkpoint(TRUNCATE)");
    }
    const contents = { format: STORE_FORMAT, database, start, end, links: aliases.length };
    return await storeSnapshot(connection.jetstream(), storePath(folder), contents);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
