/**
 * Goal: a client that takes its export slowly keeps no other account from one, and one that takes
 * it at a fair pace keeps it.
 */
import { expect, test } from "bun:test";

import { newUuid } from "../../shared/ids.ts";
import { ApiError } from "../http/errors.ts";
import { RunningExports } from "./service.ts";

const BYTES = 1_000;
const PACE = { bytesPerSecond: 1_000, lateMs: 5_000 };

async function* endless(): AsyncGenerator<Uint8Array, undefined> {
  await Promise.resolve();
  for (;;) yield new Uint8Array(BYTES);
}

function createExports() {
  let nowMs = 0;
  const exports = new RunningExports(PACE, () => nowMs);
  return {
    /** Starts an export, and takes its first chunk. */
    async start(accountId = newUuid(), source = endless) {
      let ended = false;
      const chunks = exports.run(accountId, source, () => void (ended = true));
      await chunks.next();
      return {
        accountId,
        take: () => chunks.next(),
        stop: () => chunks.return(undefined),
        isEnded: () => ended,
      };
    },
    pass: (ms: number) => void (nowMs += ms),
  };
}

type Export = Awaited<ReturnType<ReturnType<typeof createExports>["start"]>>;

const reasonOf = (started: Promise<unknown>): Promise<unknown> =>
  started.then(
    () => undefined,
    (error: unknown) => (error instanceof ApiError ? error.reason : error),
  );

const endedOf = (all: readonly Export[]): boolean[] => all.map(({ isEnded }) => isEnded());

test("accounts that take a chunk of theirs now and then hold up no other", async () => {
  const { start, pass } = createExports();
  const slow = [await start(), await start(), await start()];
  for (let i = 0; i < 10; i++) {
    pass(20_000);
    for (const { take } of slow) await take();
  }
  pass(1_001);
  await start();
  expect(endedOf(slow).filter(Boolean)).toHaveLength(1);
  // As long as nobody waits, nobody's is ended.
  pass(60_000);
  expect(endedOf(slow).filter(Boolean)).toHaveLength(1);
});

test("of several late ones the latest is ended, and none that takes its own at the pace", async () => {
  const { start, pass } = createExports();
  const [fair, slow] = [await start(), await start()];
  for (let i = 0; i < 20; i++) {
    pass(1_000);
    await fair.take();
  }
  const slower = await start();
  pass(1_000);
  await fair.take();
  // Only the second one is late.
  await start();
  expect(endedOf([fair, slow, slower])).toEqual([false, true, false]);
  for (let i = 0; i < 10; i++) {
    pass(1_000);
    await fair.take();
  }
  await start();
  expect(endedOf([fair, slower])).toEqual([false, true]);
});

test("a client may pause once, and what it took before does not count for longer than that", async () => {
  const { start, pass } = createExports();
  const all = [await start(), await start(), await start()];
  for (let i = 0; i < 100; i++) for (const { take } of all) await take();
  pass(5_000);
  expect(await reasonOf(start())).toBe("unavailable");
  pass(1);
  await start();
  expect(endedOf(all).filter(Boolean)).toHaveLength(1);
});

test("the time that an export itself takes does not count against its client", async () => {
  const { start, pass } = createExports();
  const { promise, resolve } = Promise.withResolvers<void>();
  async function* held(): AsyncGenerator<Uint8Array, undefined> {
    yield new Uint8Array(BYTES);
    await promise;
    yield new Uint8Array(BYTES);
    return undefined;
  }
  const all = [
    await start(newUuid(), held),
    await start(newUuid(), held),
    await start(newUuid(), held),
  ];
  const taking = all.map(({ take }) => take());
  pass(60_000);
  expect(await reasonOf(start())).toBe("unavailable");
  resolve();
  await Promise.all(taking);
  expect(await reasonOf(start())).toBe("unavailable");
});

test("an account whose export was ended may begin another, which the end of the first does not release", async () => {
  const { start, pass } = createExports();
  const [slow] = [await start(), await start(), await start()];
  pass(6_000);
  await start();
  expect(slow.isEnded()).toBe(true);
  pass(6_000);
  const again = await start(slow.accountId);
  await slow.stop();
  expect(again.isEnded()).toBe(false);
  expect(await reasonOf(start(slow.accountId))).toBe("rate_limited");
});
