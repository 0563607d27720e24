import { afterEach, beforeEach, expect, test } from "bun:test";

import { processLog } from "../../shared/log.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { Continuity, RESTORE_MS, SETTLE_MS, type WatchedStream } from "./continuity.ts";
import type { StreamPosition } from "./uses-file.ts";

let stream: { created: string; state: { last_seq: number } };
let isUp: boolean;
let now: number;
let readings: number;
let restored: number;
let positions: StreamPosition[];
let continuity: Continuity;

beforeEach(() => {
  stream = { created: "2030-01-01", state: { last_seq: 10 } };
  isUp = true;
  now = 0;
  readings = 0;
  restored = 0;
  positions = [];
});
afterEach(() => continuity.stop());

const watch = (initial?: StreamPosition) =>
  start(
    {
      connected: () => isUp,
      readStream() {
        readings++;
        return Promise.resolve(structuredClone(stream));
      },
    },
    initial,
  );

const onRollback = () => void restored++;

function start(watched: WatchedStream, initial?: StreamPosition): Continuity {
  const written = {
    position: initial,
    writePosition: (position: StreamPosition) => void positions.push(position),
  };
  const log = processLog("redirector", "silent");
  continuity = new Continuity(watched, written, onRollback, log, {
    clock: () => now,
    intervalMs: 5,
  });
  return continuity;
}

/** Waits until the stream was read a few times more. */
const readAgain = async () => {
  const before = readings;
  await eventually(async () => expect(readings).toBeGreaterThan(before + 4));
};

test("clicks may be leased a moment after a connection, and not without one", async () => {
  const watched = watch();
  await readAgain();
  expect([watched.isReady(), watched.isOpen()]).toEqual([true, false]);
  now = SETTLE_MS;
  expect(watched.isOpen()).toBe(true);
  isUp = false;
  expect(watched.isOpen()).toBe(false);
  isUp = true;
  watched.interrupt();
  expect(watched.isOpen()).toBe(false);
  await readAgain();
  expect(watched.isOpen()).toBe(false);
  now += SETTLE_MS;
  expect([watched.isOpen(), watched.rollbacks]).toEqual([true, 0]);
});

test.each([
  ["created anew", () => (stream.created = "2030-01-02")],
  ["set back", () => (stream.state.last_seq = 9)],
])(
  "a stream that was %s opens only after all could say again what they used",
  async (_, change) => {
    const watched = watch();
    await readAgain();
    now = SETTLE_MS;
    change();
    await eventually(async () => expect(restored).toBe(1));
    expect(watched.isOpen()).toBe(false);
    now += RESTORE_MS;
    await readAgain();
    expect([watched.isOpen(), watched.rollbacks]).toEqual([true, 1]);
    expect(positions.at(-1)?.sequence).toBe(stream.state.last_seq);
  },
);

test("a new leader that is behind for a moment is believed only for that moment", async () => {
  let behind = 2;
  const watched = start({
    connected: () => true,
    readStream() {
      readings++;
      const last_seq = readings > 5 && behind-- > 0 ? 3 : 10;
      return Promise.resolve({ created: stream.created, state: { last_seq } });
    },
  });
  await eventually(async () => expect(readings).toBeGreaterThan(12));
  now = SETTLE_MS;
  expect([watched.isOpen(), restored]).toEqual([true, 0]);
});

test("a position from before a restart is compared, and a message that got an old sequence is not believed", async () => {
  watch({ stream: "0190a5a2-0000-7000-8000-000000000001", sequence: 5 });
  await eventually(async () => expect(restored).toBe(1));
  expect(continuity.accepts(11, continuity.known())).toBe(true);
  expect(continuity.accepts(10, continuity.known())).toBe(false);
  expect([restored, continuity.isOpen()]).toEqual([2, false]);
});
