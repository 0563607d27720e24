import { describe, expect, test } from "bun:test";

import { ApiError } from "../http/errors.ts";
import type { LiveRow } from "./click-poller.ts";
import { LiveClicks, type LiveReader } from "./live.ts";

const POSITION = "01900000-0000-7000-8000-000000000002.0.0";

/** Live clicks on a poller and leases that the test controls. */
function createFixture() {
  const subscribers = new Set<(rows: readonly LiveRow[]) => void>();
  const leases = { held: 0, lose: () => {} };
  const missed: LiveRow[] = [];
  const live = new LiveClicks(
    {
      subscribe(_linkId, subscriber) {
        subscribers.add(subscriber);
        return () => void subscribers.delete(subscriber);
      },
      readSince: async () => missed,
    },
    {
      async acquire(_owner, onLost) {
        leases.held++;
        leases.lose = onLost;
        return async () => void leases.held--;
      },
      stop: () => {},
    },
  );
  const deliver = (rows: readonly LiveRow[]) => {
    for (const subscriber of subscribers) subscriber(rows);
  };
  const open = (more: Partial<LiveReader> = {}) =>
    live.open({
      owner: { accountId: "a", mode: "live" },
      linkId: "l",
      lastEventId: null,
      matches: () => true,
      confirm: async () => undefined,
      signal: new AbortController().signal,
      ...more,
    });
  return { live, leases, missed, deliver, open };
}

const rowAt = (ms: number, position: string, referrer = "direct"): LiveRow => ({
  ms: String(ms),
  position,
  class: "human",
  country: "ZZ",
  region: "",
  city: "",
  browser: "",
  os: "",
  device: "",
  referrer,
});

const textOf = (stream: ReadableStream<Uint8Array>): Promise<string> => new Response(stream).text();

describe("a live stream", () => {
  test("ends when its client falls too far behind, and releases its lease", async () => {
    const { live, leases, deliver, open } = createFixture();
    const stalled = await open();
    const later = Date.now() + 1_000;
    for (let i = 0; leases.held > 0; i++) {
      if (i === 10_000) throw new Error("The stream of a client that does not read never ended.");
      deliver([rowAt(later + i, `p${i}`, "x".repeat(1_000))]);
    }
    expect(live.count()).toBe(0);
    // The data sent until then is bounded.
    expect((await textOf(stalled)).length).toBeLessThan(300 * 1024);
  });

  test("ends when its client disconnects or loses its authorisation or its lease", async () => {
    const { live, leases, open } = createFixture();
    const leaving = new AbortController();
    const streams = [
      await open({ signal: leaving.signal }),
      await open({ confirm: () => Promise.reject(new Error("revoked")) }),
      await open(),
    ];
    leases.lose();
    leaving.abort();
    for (const stream of streams) expect(await textOf(stream)).toBe("retry: 1000\n\n");
    await (await open()).cancel();
    expect([live.count(), leases.held]).toEqual([0, 0]);
  });

  test("resumes where its client stopped, with each click once", async () => {
    const { live, missed, deliver, open } = createFixture();
    const seen = Date.now() - 10_000;
    const at = (n: number) => rowAt(seen + n, `${POSITION}${n}`);
    missed.push(at(0), at(1), at(2));
    const stream = await open({ lastEventId: `${seen}.${POSITION}0` });
    // The poller finds these while the missed clicks are read, and after that.
    deliver([at(2), at(3)]);
    await Bun.sleep(1);
    deliver([at(4)]);
    live.stop();
    const ids = [...(await textOf(stream)).matchAll(/^id: (\d+)/gm)].map(
      ([, ms]) => Number(ms) - seen,
    );
    expect(ids).toEqual([1, 2, 3, 4]);
  });

  test("is not opened above the maximum of the process, nor after a stop", async () => {
    const { live, open } = createFixture();
    const opened = await Promise.allSettled(Array.from({ length: 301 }, () => open()));
    const rejected = opened.filter((result) => result.status === "rejected");
    expect(rejected).toHaveLength(1);
    expect(rejected[0]?.reason).toBeInstanceOf(ApiError);
    expect(rejected[0]?.reason.status).toBe(503);
    live.stop();
    expect(live.count()).toBe(0);
    expect(open()).rejects.toThrow("Too many");
  });
});
