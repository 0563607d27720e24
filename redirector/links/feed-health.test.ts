import { expect, test } from "bun:test";

import { EMPTY_FEED, type FeedState } from "../../shared/links-store/schema.ts";
import { FeedHealth } from "./feed-health.ts";

/** Health by a clock that the test moves, in seconds. */
function createHealth() {
  let seconds = 0;
  const health = new FeedHealth(() => seconds * 1_000);
  return { health, pass: (more: number) => void (seconds += more) };
}

const complete: FeedState = { ...EMPTY_FEED, stream: "s", complete: true, confirmed_at: 1 };

test("a host without links is not ready, however long it waits", () => {
  const { health, pass } = createHealth();
  health.onCurrent();
  pass(3_600);
  expect(health.readiness()).toBe("the store lacks links");
  expect(health.warning()).toContain("lacks links");
  health.onFeed(complete);
  expect(health.readiness()).toBe("ok");
});

test("a host with every link is ready once it is up to date, or without the feed after ten seconds", () => {
  const { health, pass } = createHealth();
  health.onFeed(complete);
  expect(health.readiness()).toBe("not connected yet");
  expect(health.warning()).toBe("not connected yet; last confirmed 0 s ago");
  pass(10);
  expect(health.readiness()).toBe("ok");
  const { health: other } = createHealth();
  other.onFeed(complete);
  other.onCurrent();
  expect(other.readiness()).toBe("ok");
  expect(other.warning()).toBeUndefined();
});

test("a host that was ready stays ready while its store is filled again, and says so", () => {
  const { health } = createHealth();
  health.onFeed(complete);
  health.onCurrent();
  expect(health.readiness()).toBe("ok");
  health.onFeed(EMPTY_FEED);
  expect(health.readiness()).toBe("ok");
  expect(health.complete()).toBe(false);
  expect(health.warning()).toContain("lacks links");
});

test.each([
  ["begins again and again", [10, 900, 0, 700, 0, 890, 900], false],
  ["does not go on", [10, 900, 900, 900, 900, 900, 900], false],
  ["goes on", [10, 900, 901, 902, 903, 904, 905], true],
])("a host that was ready is not ready while a fill %s", (_name, sequences, isReady) => {
  const { health, pass } = createHealth();
  health.onFeed(complete);
  health.onCurrent();
  expect(health.readiness()).toBe("ok");
  for (const sequence of sequences) {
    health.onFeed({ ...complete, complete: false, sequence });
    pass(8);
  }
  if (isReady) expect(health.readiness()).toBe("ok");
  else expect(health.readiness()).toContain("has come no further for 48 s");
  health.onFeed(complete);
  expect(health.readiness()).toBe("ok");
});

test("a start waits as long as links come, and no longer than it may", async () => {
  const health = new FeedHealth();
  let sequence = 0;
  const filling = setInterval(() => {
    sequence++;
    health.onFeed({ ...EMPTY_FEED, stream: "s", sequence });
  }, 20);
  const startedAt = performance.now();
  await health.waitUntilReady({ withinMs: 500, idleMs: 200 });
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(490);
  clearInterval(filling);
  const waiting = health.waitUntilReady({ withinMs: 60_000, idleMs: 200 });
  await waiting;
  expect(health.readiness()).not.toBe("ok");
  const ready = health.waitUntilReady({ withinMs: 60_000, idleMs: 60_000 });
  health.onFeed(complete);
  health.onCurrent();
  await ready;
  expect(health.readiness()).toBe("ok");
});

test("its age is the time since a heartbeat came, whatever the clocks say, and without one the lag is not known", () => {
  const { health, pass } = createHealth();
  health.onFeed({ ...complete, confirmed_at: 5_000, pending: 3 });
  health.onCurrent();
  pass(2);
  expect(health.ageSeconds()).toBe(2);
  expect(health.lag()).toBe(3);
  // The writer's clock was set back.
  health.onFeed({ ...complete, confirmed_at: 1_000 });
  expect(health.ageSeconds()).toBe(0);
  pass(8);
  expect(health.lag()).toBeUndefined();
  expect(health.warning()).toBeUndefined();
  pass(30);
  expect(health.warning()).toBe("ok; last confirmed 38 s ago");
});
