/**
 * Goal: the store of a host is a prefix of the log, says so when it is not, and has later states
 * nevertheless. Method: a real NATS server.
 */
import { Database } from "bun:sqlite";
import { describe, expect, setDefaultTimeout, test } from "bun:test";

import { EMPTY_HEAD, type Head, lacksEntries } from "../../shared/links-log/entries.ts";
import { LINK_LOG_STREAM, LINK_LOG_SUBJECT, signEntry } from "../../shared/links-log/tail.ts";
import { processLog } from "../../shared/log.ts";
import { NatsClient } from "../../shared/nats.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { SIGNER, signerOf } from "../../test/harness/links-log.ts";
import { TestLog, TestTail } from "../../test/harness/test-log.ts";
import { LogFollower } from "./log-follower.ts";
import { isDamage, storePath } from "./store-files.ts";
import { LogStore, StoreReader } from "./store.ts";

setDefaultTimeout(60_000);

const log = processLog("test", "silent");

const tail = new TestTail();

/** A host that follows the log into the store of the test. */
function startHost() {
  const nats = new NatsClient(tail.server.url, "redirector", log);
  const store = new LogStore(tail.dir, 0);
  const reader = new StoreReader(tail.dir);
  const follower = new LogFollower({ nats, verifier: SIGNER, log }, store);
  return {
    store,
    ended: follower.ended,
    versionOf: (alias: string) => reader.find("", alias)?.version,
    has: (...aliases: string[]) => aliases.every((alias) => reader.find("", alias) !== undefined),
    /** Waits until the store has written an entry. */
    reaches: ({ hash }: Head) =>
      eventually(async () => expect(store.state.written.hash).toBe(hash)),
    reads: (sequence: number) =>
      eventually(async () => expect(store.state.sequence).toBe(sequence)),
    async [Symbol.asyncDispose]() {
      await follower.stop();
      reader.close();
      await nats.close();
    },
  };
}

/** Waits until a host that has just begun to read gets what is published from now on. */
const begins = (host: ReturnType<typeof startHost>, sequence: number) => host.reads(sequence);

describe("a store", () => {
  test("has each entry on top of the one before, and goes on there after a restart", async () => {
    const written = new TestLog();
    await tail.publish(written.add(["a", "b"]), written.add(["c"]));
    {
      await using host = startHost();
      await host.reaches(written.entries[1] ?? EMPTY_HEAD);
      expect(host.has("a", "b", "c")).toBe(true);
      expect(host.store.state).toMatchObject({ links: 3, sequence: 2 });
    }
    await tail.publish(written.add(["d"]), written.add(["a"]));
    await using host = startHost();
    await host.reaches(written.entries[3] ?? EMPTY_HEAD);
    expect(host.store.state).toMatchObject({ links: 4, sequence: 4 });
    expect(lacksEntries(host.store.state)).toBe(false);
  });

  test("is current once it has what was published since it began to read, and what that announces", async () => {
    const written = new TestLog();
    await tail.publish(written.add(["a"]));
    await using host = startHost();
    await begins(host, 1);
    expect(host.store.state.isCurrent).toBe(false);
    const [second, third] = [written.add(["b"]), written.add()];
    // As published by a process that is about to publish more.
    await tail.intrude(LINK_LOG_SUBJECT, second.bytes, signEntry(SIGNER, second, third));
    await host.reaches(second);
    expect(host.store.state.isCurrent).toBe(false);
    await tail.publish(third);
    await eventually(async () => expect(host.store.state.isCurrent).toBe(true));
  });

  test("has the entries that come again only once, however the tail comes back", async () => {
    const written = new TestLog();
    await tail.publish(written.add(["a"]), written.add(["b"]));
    await using host = startHost();
    await host.reaches(written.entries[1] ?? EMPTY_HEAD);
    const versions = [host.versionOf("a"), host.versionOf("b")];
    await tail.empty();
    await tail.publish(...written.entries, written.add(["c"], 2));
    await host.reaches(written.entries[2] ?? EMPTY_HEAD);
    expect([host.versionOf("a"), host.versionOf("b")]).toEqual(versions);
    expect(host.store.state).toMatchObject({ sequence: 3, links: 3 });
    expect(lacksEntries(host.store.state)).toBe(false);
  });

  test("that a disk has damaged ends the follower, so that the host fills another one", async () => {
    const written = new TestLog();
    await tail.publish(written.add(["a"]));
    await using host = startHost();
    await host.reaches(written.entries[0] ?? EMPTY_HEAD);
    const ended = host.ended.catch((error: unknown) => isDamage(error));
    using db = new Database(storePath(tail.dir));
    db.run("UPDATE links SET record = zeroblob(length(record))");
    expect(await ended).toBe(true);
  });

  test("is not replaced by a tail that ends early", async () => {
    const written = new TestLog();
    await tail.publish(written.add(["a"]), written.add(["b"]));
    await using host = startHost();
    await host.reaches(written.entries[1] ?? EMPTY_HEAD);
    await tail.empty();
    await tail.publish(...written.entries.slice(0, 1));
    await host.reads(1);
    expect(host.store.state).toMatchObject({ head: { hash: written.entries[1]?.hash }, links: 2 });
    expect(host.store.state.isCurrent).toBe(false);
    expect(lacksEntries(host.store.state)).toBe(false);
  });

  test("whose entries are missing in the tail has the later states, and says that it lacks entries", async () => {
    const written = new TestLog();
    await tail.publish(written.add(["a"]));
    {
      await using host = startHost();
      await host.reaches(written.entries[0] ?? EMPTY_HEAD);
    }
    await tail.publish(written.add(["missing"]), written.add(["a"]));
    await tail.manager.streams.purge(LINK_LOG_STREAM, { seq: 3 });
    for (const _ of ["at once", "after a restart"]) {
      await using host = startHost();
      await host.reaches(written.entries[2] ?? EMPTY_HEAD);
      expect(host.versionOf("a")).toBe(written.entries[2]?.position);
      expect(host.has("missing")).toBe(false);
      expect(lacksEntries(host.store.state)).toBe(true);
      expect(host.store.state).toMatchObject({
        head: { hash: written.entries[0]?.hash },
        isCurrent: false,
      });
    }
  });

  test("reads the tail from its start before it says that entries are missing", async () => {
    const written = new TestLog();
    await tail.publish(written.add(["a"]), written.add(["b"]));
    {
      await using host = startHost();
      await host.reaches(written.entries[1] ?? EMPTY_HEAD);
    }
    {
      // As if a replica numbered its messages differently.
      using store = new LogStore(tail.dir, 0);
      store.write([], { ...store.state, sequence: 4 });
    }
    await tail.publish(written.add(["c"]), written.entries[1] ?? written.add(), written.add(["d"]));
    await using host = startHost();
    await host.reaches(written.entries[3] ?? EMPTY_HEAD);
    expect(host.has("a", "b", "c", "d")).toBe(true);
    expect(lacksEntries(host.store.state)).toBe(false);
  });

  test("counts what says that it has another format, and goes on", async () => {
    const written = new TestLog();
    await tail.intrude(LINK_LOG_SUBJECT, '{"format":2}');
    await tail.publish(written.add(["a"]));
    await using host = startHost();
    await host.reaches(written.entries[0] ?? EMPTY_HEAD);
    expect(host.store.state.skipped).toEqual({ malformed: 0, unsigned: 0, other_format: 1 });
  });

  test("is as if what nobody signed were not there", async () => {
    const written = new TestLog();
    await tail.intrude(LINK_LOG_SUBJECT, "no entry");
    await tail.publish(written.add(["a"]));
    await using host = startHost();
    await host.reads(2);
    const head = written.entries[0] ?? EMPTY_HEAD;
    const forged = written.restoredTo(head).add(["a", "forged"], 9);
    const stranger = signerOf({ links_signing_key: "6".repeat(64) });
    await tail.intrude(LINK_LOG_SUBJECT, forged.bytes, signEntry(stranger, forged, forged));
    await tail.intrude(LINK_LOG_SUBJECT, forged.bytes);
    await host.reads(4);
    expect(host.versionOf("a")).toBe(head.position);
    expect(host.has("forged")).toBe(false);
    expect(host.store.state).toMatchObject({ head: { hash: head.hash }, isCurrent: false });
    expect(lacksEntries(host.store.state)).toBe(false);
    await tail.publish(written.add(["b"]));
    await host.reaches(written.entries[1] ?? EMPTY_HEAD);
    expect(host.store.state.isCurrent).toBe(true);
    await tail.intrude(LINK_LOG_SUBJECT, "no entry");
    await host.reads(6);
    expect(host.store.state.isCurrent).toBe(true);
    expect(host.store.state.skipped).toEqual({ malformed: 0, unsigned: 4, other_format: 0 });
  });

  test("is not current because somebody repeats what an API process has signed", async () => {
    const written = new TestLog();
    await tail.publish(written.add(["a"]));
    await using host = startHost();
    await host.reads(1);
    await tail.publish(...written.entries);
    await host.reads(2);
    expect(host.store.state.isCurrent).toBe(false);
    await tail.publish(written.add());
    await host.reads(3);
    await tail.publish(...written.entries.slice(1));
    await host.reads(4);
    expect(host.store.state.isCurrent).toBe(true);
  });
});
