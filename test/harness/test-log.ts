/** A links log of a test, and its tail. */
import { headers, type NatsConnection } from "nats";

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
  add(links: readonly (string | Uint8Array)[] = [], term = Math.max(this.#head.term, 1)): Written {
    const position = Math.max(this.#head.position + 1, Date.now() * 1_000);
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
