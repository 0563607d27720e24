import { expect, test } from "bun:test";

import { type Head, NO_HASH } from "../../shared/links-log/entries.ts";
import { EMPTY_LOG, type LogState, type SkippedReason } from "../../shared/links-store/schema.ts";
import { LogHealth } from "./log-health.ts";

/** Health by a clock that the test moves, in seconds. */
function createHealth() {
  let seconds = 0;
  const health = new LogHealth(() => seconds * 1_000);
  return { health, pass: (more: number) => void (seconds += more) };
}

const headAt = (position: number): Head => ({
  term: 1,
  position,
  hash: String(position).padStart(64, NO_HASH),
});

/** A store that has all entries up to a position. */
const complete = (position: number): LogState => ({
  ...EMPTY_LOG,
  head: headAt(position),
  written: headAt(position),
  isFilled: true,
});

/** One that lacks entries between its first and its last one. */
const lacking = (position: number, obstacle: string): LogState => ({
  ...complete(position),
  head: headAt(1),
  obstacle,
});

test("a new host that is being filled is not ready, however long that takes, and not stalled", () => {
  const { health, pass } = createHealth();
  for (let position = 1; position <= 10; position++) {
    health.onState({ ...complete(position), isFilled: false, pending: 100 });
    pass(100);
    expect(health.readiness()).toBe("the store lacks links");
  }
  health.onState(complete(11));
  health.onCurrent();
  expect(health.readiness()).toBe("ok");
});

test("a host without links is not ready, however long it waits", () => {
  const { health, pass } = createHealth();
  health.onCurrent();
  pass(100);
  expect(health.readiness()).toBe("the store lacks links");
  pass(3_500);
  expect(health.readiness()).toStartWith("the store lacks links");
  expect(health.warning()).toContain("lacks links");
  health.onState(complete(5));
  expect(health.readiness()).toBe("ok");
});

test("a host with every link is ready once it is up to date, or without the log after ten seconds", () => {
  const { health, pass } = createHealth();
  health.onState(complete(5));
  expect(health.readiness()).toBe("not connected yet");
  expect(health.warning()).toBe("not connected yet; last confirmed 0 s ago");
  pass(10);
  expect(health.readiness()).toBe("ok");
  const { health: other } = createHealth();
  other.onState(complete(5));
  other.onCurrent();
  expect(other.readiness()).toBe("ok");
  expect(other.warning()).toBeUndefined();
});

test("a host that was ready stays ready while its store is replaced, and says so", () => {
  const { health } = createHealth();
  health.onState(complete(5));
  health.onCurrent();
  expect(health.readiness()).toBe("ok");
  health.onState(lacking(7, "a snapshot of 3 links is read: 40 %"));
  expect(health.readiness()).toBe("ok");
  expect(health.complete()).toBe(false);
  expect(health.warning()).toBe(
    "the store lacks links: a snapshot of 3 links is read: 40 %; the response for links that it does not have is 503",
  );
});

test("a host with every link says what it waits for", () => {
  const { health } = createHealth();
  health.onCurrent();
  health.onState({ ...complete(5), obstacle: "another database publishes" });
  expect(health.readiness()).toBe("ok");
  expect(health.warning()).toBe(
    "the store of this host may be outdated: another database publishes",
  );
});

test.each([
  ["does not come", [1, 1, 1, 1, 1], false],
  ["is read", [1, 2, 3, 4, 5], true],
])("a host that was ready is not ready while a snapshot %s", (_name, parts, isReady) => {
  const { health, pass } = createHealth();
  health.onState(complete(5));
  health.onCurrent();
  expect(health.readiness()).toBe("ok");
  // Entries go on nevertheless.
  for (const [i, part] of parts.entries()) {
    health.onState(lacking(10 + i, `part ${part}`));
    pass(50);
  }
  if (isReady) expect(health.readiness()).toBe("ok");
  else expect(health.readiness()).toContain("it has come no further for 250 s");
  health.onState(complete(20));
  expect(health.readiness()).toBe("ok");
});

test("a start waits as long as links come, and no longer than it may", async () => {
  const health = new LogHealth();
  let position = 1;
  const filling = setInterval(() => health.onState(lacking(++position, "a snapshot is read")), 20);
  const startedAt = performance.now();
  await health.waitUntilReady({ withinMs: 500, idleMs: 200 });
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(490);
  clearInterval(filling);
  await health.waitUntilReady({ withinMs: 60_000, idleMs: 200 });
  expect(health.readiness()).not.toBe("ok");
  const ready = health.waitUntilReady({ withinMs: 60_000, idleMs: 60_000 });
  health.onState(complete(100));
  health.onCurrent();
  await ready;
  expect(health.readiness()).toBe("ok");
});

test("its age is the time since another entry came, and without one the lag is not known", () => {
  const { health, pass } = createHealth();
  health.onState({ ...complete(5), pending: 3 });
  health.onCurrent();
  pass(2);
  // The store was opened again: no entry came.
  health.onState(EMPTY_LOG);
  health.onState({ ...complete(5), pending: 3 });
  expect(health.ageSeconds()).toBe(2);
  expect(health.lag()).toBe(3);
  health.onState(complete(6));
  expect(health.ageSeconds()).toBe(0);
  pass(8);
  expect(health.lag()).toBeUndefined();
  expect(health.warning()).toBeUndefined();
  pass(30);
  expect(health.warning()).toBe("ok; last confirmed 38 s ago");
});

test("it names for ten minutes why messages were ignored", () => {
  const { health, pass } = createHealth();
  // What the store had skipped when it was opened is no news.
  let state = { ...complete(5), skipped: { malformed: 1, unsigned: 1, other_format: 1 } };
  health.onState(state);
  const skip = (reason: SkippedReason) => {
    const skipped = { ...state.skipped, [reason]: state.skipped[reason] + 1 };
    health.onState((state = { ...state, skipped }));
  };
  expect(health.ignoredWarning()).toBeUndefined();
  for (const [reason, why] of [
    ["unsigned", "no key of LINKS_PUBLIC_KEYS signed them"],
    ["other_format", "they have a format that this version does not read"],
  ] as const) {
    skip(reason);
    pass(599);
    skip("malformed");
    expect(health.ignoredWarning()).toEndWith(why);
    pass(2);
    expect(health.ignoredWarning()).toBeUndefined();
  }
  expect(health.skipped).toEqual({ malformed: 2, unsigned: 1, other_format: 1 });
});
