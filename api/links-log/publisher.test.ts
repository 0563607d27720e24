/**
 * Goal: the tail has what was committed, in one chain and each entry once, whoever dies, races or
 * comes back older. Method: real PostgreSQL and NATS.
 */
import { beforeEach, expect, test } from "bun:test";
import { cpSync, readFileSync, rmSync } from "node:fs";

import { headers } from "nats";

import { decodeLinkRecord } from "../../shared/contracts/link-record.ts";
import {
  decodeEntry,
  EMPTY_HEAD,
  type Entry,
  type Head,
  HEARTBEAT_MS,
  parseHead,
} from "../../shared/links-log/entries.ts";
import {
  HEAD_HEADER,
  HEARTBEAT_REQUESTS,
  LINK_LOG_STREAM,
  LINK_LOG_SUBJECT,
  signEntry,
} from "../../shared/links-log/tail.ts";
import { processLog } from "../../shared/log.ts";
import { NatsClient } from "../../shared/nats.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { flipBit } from "../../test/harness/flip-bit.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { SIGNER, signerOf } from "../../test/harness/links-log.ts";
import { AWAY, startNats } from "../../test/harness/nats.ts";
import { startPostgres } from "../../test/harness/postgres.ts";
import { TestLog } from "../../test/harness/test-log.ts";
import { addToOutbox, isAcknowledged, numberLog, selectEntries } from "./log.ts";
import { LinksLogPublisher, type LogContext } from "./publisher.ts";

/** What the first entry follows. */
let beginning: string;
const postgres = await forFile(startPostgres());
const nats = await forFile(startNats());
const connection = await forFile(nats.connect(), (open) => open.close());
const client = await forFile(
  new NatsClient(nats.url, "api", processLog("test", "silent")),
  (open) => open.close(),
);
await client.connection;
// A request that was sent to a killed server is not repeated for that long.
const manager = await connection.jetstreamManager({ timeout: 500 });
await postgres.addAccount();

beforeEach(async () => {
  const { sql } = postgres;
  await manager.streams.delete(LINK_LOG_STREAM).catch(() => undefined);
  for (const table of ["link_outbox", "link_log", "link_log_head"])
    await sql`delete from ${sql(table)}`;
  const [row] = await sql<[{ hash: string }]>`
    insert into link_log_head default values returning hash`;
  beginning = row.hash;
});

/** A process that publishes. */
function startPublisher(change: Partial<LogContext> = {}) {
  const publisher = new LinksLogPublisher({
    sql: postgres.sql,
    nats: client,
    signer: SIGNER,
    replicas: 1,
    log: processLog("test", "silent"),
    noteFailure: () => undefined,
    ...change,
  });
  return { publisher, [Symbol.asyncDispose]: () => publisher.stop() };
}

const commit = (...aliases: string[]) =>
  postgres.sql.begin((transaction) =>
    addToOutbox(
      transaction,
      aliases.map((alias) => ({ state: "deleted", version: 1, domain: "", alias })),
    ),
  );

type Published = Entry & { bytes: Uint8Array; announced: Head | undefined };

async function readTail(): Promise<Published[]> {
  const { state } = await manager.streams.info(LINK_LOG_STREAM);
  const published: Published[] = [];
  for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
    const { data, header } = await manager.streams.getMessage(LINK_LOG_STREAM, { seq });
    const entry = decodeEntry(data);
    if (entry === undefined) continue;
    published.push({ ...entry, bytes: data, announced: parseHead(header.get(HEAD_HEADER)) });
  }
  return published;
}

/** The tail has each entry once, and each follows the one before. */
async function expectChain(first = beginning): Promise<Published[]> {
  const tail = await readTail();
  expect(tail.map(({ previous }) => previous)).toEqual([
    first,
    ...tail.slice(0, -1).map(({ hash }) => hash),
  ]);
  return tail;
}

const aliasesOf = (entries: readonly Entry[]) =>
  entries.flatMap(({ states }) => states.map((state) => decodeLinkRecord(state)?.alias ?? ""));

const termsOf = (entries: readonly Entry[]) => [...new Set(entries.map(({ term }) => term))];

test("what was committed is in the tail, as PostgreSQL keeps it, and announces the head", async () => {
  await using api = startPublisher();
  await commit("a", "b");
  expect(await api.publisher.publish()).toBe(true);
  await commit("c");
  expect(await api.publisher.publish()).toBe(true);
  const tail = await expectChain();
  const log = await selectEntries(postgres.sql, 0);
  expect(tail.map(({ bytes }) => Buffer.from(bytes))).toEqual(
    log.map(({ bytes }) => Buffer.from(bytes)),
  );
  expect(tail.map(({ announced }) => announced?.hash)).toEqual(tail.map(({ hash }) => hash));
  expect(aliasesOf(tail)).toEqual(["a", "b", "c"]);
});

test("of publishers that race, each has published what was committed, and no entry is there twice", async () => {
  await using first = startPublisher();
  await using second = startPublisher();
  await using third = startPublisher();
  const names = Array.from({ length: 150 }, (_, i) => `link-${i}`);
  const outcomes = await Promise.all(
    names.map(async (name, i) => {
      await commit(name);
      const { publisher } = [first, second, third][i % 3] ?? first;
      return (await publisher.publish()) && aliasesOf(await readTail()).includes(name);
    }),
  );
  expect(outcomes.every(Boolean)).toBe(true);
  const tail = await expectChain();
  expect(aliasesOf(tail).toSorted()).toEqual(names.toSorted());
  expect(termsOf(tail)).toEqual([1]);
});

test("what a dead publisher or a command left is published by others", async () => {
  await commit("numbered");
  await numberLog(postgres.sql);
  await commit("committed");
  await using _ = startPublisher();
  await eventually(async () =>
    expect(aliasesOf(await expectChain())).toEqual(["numbered", "committed"]),
  );
});

test("an entry whose acknowledgement was lost is not published again", async () => {
  await commit("a");
  await numberLog(postgres.sql);
  const [entry] = await selectEntries(postgres.sql, 0);
  {
    // Creates the stream.
    await using _ = startPublisher();
    await eventually(async () => expect(await readTail()).toHaveLength(1));
  }
  await postgres.sql`update link_log_head set acknowledged_term = null, acknowledged_position = null`;
  await using api = startPublisher();
  await commit("b");
  expect(await api.publisher.publish()).toBe(true);
  const tail = await expectChain();
  expect(tail[0]?.hash).toBe(entry?.hash);
  expect(aliasesOf(tail)).toEqual(["a", "b"]);
  expect(termsOf(tail)).toEqual([1]);
});

test("a NATS that comes back older gets what it lacks, and then a new term", async () => {
  await using api = startPublisher();
  await commit("a");
  await api.publisher.publish();
  const saved = `${nats.dir}.saved`;
  await nats.kill();
  cpSync(nats.dir, saved, { recursive: true });
  await nats.start("retained");
  await commit("b");
  await eventually(async () => expect(await api.publisher.publish()).toBe(true));
  await nats.kill();
  rmSync(nats.dir, { recursive: true });
  cpSync(saved, nats.dir, { recursive: true });
  rmSync(saved, { recursive: true });
  await nats.start("retained");
  await eventually(async () => expect(termsOf(await readTail())).toEqual([1, 2]));
  expect(aliasesOf(await expectChain())).toEqual(["a", "b", "@takedowns"]);
});

/** Where the length of the second message is, without which no message of a block is found. */
const lengthOfFirst = (block: Buffer) => block.readUInt16LE(0);

test("a tail that returns no message any more, as a disk has damaged it, is emptied and goes on", async () => {
  await using api = startPublisher();
  for (const alias of ["a", "b", "c"]) {
    await commit(alias);
    await api.publisher.publish();
  }
  // With the index of a block the server does not read the block again, which mends it.
  await nats.kill("SIGTERM");
  const block = nats.blockOf(LINK_LOG_STREAM);
  flipBit(block, lengthOfFirst(readFileSync(block)) + 1);
  await nats.start("retained");
  await commit("d");
  await eventually(async () => expect(await api.publisher.publish()).toBe(true));
  await eventually(async () => expect(termsOf(await readTail())).toEqual([1, 2]));
  expect(aliasesOf(await expectChain())).toEqual(["a", "b", "c", "d", "@takedowns"]);
});

/** Waits until PostgreSQL has recorded what the tail has: it survives no restore half-way. */
const expectRecorded = () =>
  eventually(async () => {
    const last = (await readTail()).at(-1);
    expect(last !== undefined && (await isAcknowledged(postgres.sql, last))).toBe(true);
  });

const intrude = async (data: Uint8Array | string, signed = headers()) =>
  await connection.jetstream().publish(LINK_LOG_SUBJECT, data, { headers: signed });

test("what nobody signed is passed over, and reported", async () => {
  await using api = startPublisher();
  await commit("a");
  await api.publisher.publish();
  expect(api.publisher.warning).toBeUndefined();
  const [first] = await readTail();
  if (first === undefined) throw new Error("No entry.");
  const forged = new TestLog(first.database, first).add([], 9);
  const stranger = signerOf({ links_signing_key: "6".repeat(64) });
  await intrude("{}");
  await intrude(forged.bytes);
  await intrude(forged.bytes, signEntry(stranger, forged, forged));
  await commit("b");
  expect(await api.publisher.publish()).toBe(true);
  const own = (await readTail()).filter(({ hash }) => hash !== forged.hash);
  expect(own.map((entry) => [entry.term, ...aliasesOf([entry])])).toEqual([
    [1, "a"],
    [1, "b"],
  ]);
  expect(own[1]?.previous).toBe(first.hash);
  expect(api.publisher.warning).toContain("LINKS_PUBLIC_KEYS");
});

const flood = () => Promise.all(Array.from({ length: 150 }, () => intrude("{}")));

test("behind very many messages of strangers a term begins, and soon after that no other one", async () => {
  await using api = startPublisher();
  await commit("a");
  await api.publisher.publish();
  // Else "a" is published again: nothing else says that it was.
  await expectRecorded();
  await flood();
  await commit("b");
  expect(await api.publisher.publish()).toBe(true);
  expect(aliasesOf(await expectChain())).toEqual(["a", "b", "@takedowns"]);
  await flood();
  await commit("c");
  expect(await api.publisher.publish()).toBe(false);
  expect(termsOf(await expectChain())).toEqual([1, 2]);
});

test("a database without an account publishes nothing, not even a term", async () => {
  await using empty = await startPostgres();
  {
    await using api = startPublisher();
    await commit("a");
    await api.publisher.publish();
  }
  await using other = startPublisher({ sql: empty.sql });
  expect(await other.publisher.publish()).toBe(true);
  expect(other.publisher.isSilent).toBe(true);
  expect(aliasesOf(await expectChain())).toEqual(["a"]);
});

test("a new database without an account has heartbeats in a tail that is nobody else's", async () => {
  await using empty = await startPostgres();
  await using api = startPublisher({ sql: empty.sql });
  await eventually(async () => expect((await readTail()).length).toBeGreaterThan(0));
  expect(api.publisher.isSilent).toBe(false);
});

test("a host that asks for a heartbeat need not wait for the next one", async () => {
  await using api = startPublisher();
  await eventually(async () => expect(await readTail()).not.toEqual([]));
  const gapsMs: number[] = [];
  while (gapsMs.length < 3) {
    const before = await readTail();
    connection.publish(HEARTBEAT_REQUESTS);
    await eventually(async () => expect((await readTail()).length).toBeGreaterThan(before.length));
    const [last, next] = (await readTail()).slice(before.length - 1);
    // A position is the time of its entry in microseconds.
    gapsMs.push(((next?.position ?? Infinity) - (last?.position ?? 0)) / 1_000);
  }
  expect(api.publisher.isSilent).toBe(false);
  expect(Math.min(...gapsMs)).toBeLessThan(HEARTBEAT_MS);
});

test("heartbeats go on when the last acknowledgement was lost, or another process got it, and nothing changes", async () => {
  const other = startPublisher();
  await commit("a");
  expect(await other.publisher.publish()).toBe(true);
  await other[Symbol.asyncDispose]();
  const before = await readTail();
  await postgres.sql`update link_log_head set acknowledged_position = acknowledged_position - 1`;
  await using api = startPublisher();
  await eventually(async () =>
    expect((await readTail()).length).toBeGreaterThan(before.length + 1),
  );
  expect(await isAcknowledged(postgres.sql, before.at(-1) ?? EMPTY_HEAD)).toBe(true);
  expect(api.publisher.head?.term).toBe(1);
});

test("without NATS a change is pending, and follows", async () => {
  await using api = startPublisher();
  await commit("a");
  await api.publisher.publish();
  await nats.kill();
  await commit("b");
  expect(await api.publisher.publish()).toBe(false);
  await nats.start("retained");
  await eventually(async () => expect(aliasesOf(await readTail())).toEqual(["a", "b"]));
  expect(termsOf(await expectChain())).toEqual([1]);
});

test("before NATS is reached a change is pending, and what its request asked for has ended with it", async () => {
  const failures: unknown[] = [];
  await using api = startPublisher({
    nats: AWAY,
    noteFailure: (error) => void failures.push(error),
  });
  expect(await api.publisher.publish()).toBe(false);
  expect(failures).not.toEqual([]);
});
