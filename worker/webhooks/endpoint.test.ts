import { expect, test } from "bun:test";

import { boundsOf } from "../../shared/budgets.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { leasedWebhook, pendingDelivery } from "../../test/harness/test-webhooks.ts";
import { Slots, type TakenDelivery } from "./dispatcher.ts";
import { Endpoint, Queue } from "./endpoint.ts";
import { type LeasedWebhook, type Pending, PENDING_MAX } from "./leases.ts";

const SLOW_MS = 3_000;

const QUICK_MS = 20;

const createRows = (count: number, dueAt: number): Pending[] =>
  Array.from({ length: count }, (_, position) => pendingDelivery({ position, dueAt }));

/** A webhook with 100 deliveries that are due and wait for no others. */
function createBusy(more: Partial<LeasedWebhook> = {}): Endpoint {
  const now = performance.now();
  const endpoint = new Endpoint(leasedWebhook(more), now);
  endpoint.add(createRows(100, now), now);
  return endpoint;
}

/** How many deliveries the webhook gets at once; ends them with a latency each. */
function countAtOnce(endpoint: Endpoint, latencyMs: number): number {
  const slots = new Slots();
  const picks = slots.take([endpoint]);
  for (const { delivery } of picks)
    endpoint.finish(delivery, { delivered: true, latencyMs }, undefined);
  return picks.length;
}

/** How many of the deliveries are to these webhooks. */
const countOf = (picks: readonly TakenDelivery[], endpoints: readonly Endpoint[]): number =>
  picks.filter(({ endpoint }) => endpoints.includes(endpoint)).length;

const ofOneAccount = (count: number, more: Partial<LeasedWebhook> = {}): Endpoint[] => {
  const account_id = newUuid();
  return Array.from({ length: count }, () => createBusy({ account_id, ...more }));
};

test.each([
  { of: "slow", more: { is_slow: true } },
  { of: "new", more: {} },
])("$of webhooks of a few accounts leave places for every other account", ({ more }) => {
  const slots = new Slots();
  const many = Array.from({ length: 5 }, () => ofOneAccount(100, more)).flat();
  slots.take(many);
  const other = createBusy(more);
  expect(countOf(slots.take([...many, other]), [other])).toBe(1);
});

test("an account's one webhook has its turn after one delivery of another account's many", () => {
  const slots = new Slots();
  const many = ofOneAccount(100);
  const other = createBusy();
  const picks = slots.take([...many, other]);
  expect(picks.findIndex(({ endpoint }) => endpoint === other)).toBe(1);
});

test("an account gets as many deliveries as its budget has, and then what time gives back", () => {
  let ms = 0;
  const slots = new Slots(() => ms);
  const account_id: Uuid = newUuid();
  const { atOnce, perSecond } = boundsOf("deliveries", "free");
  const countAll = (): number => {
    let count = 0;
    // Enough webhooks for more than the budget, which each respond at once.
    for (let i = 0; i <= atOnce / 100; i++) {
      const endpoint = createBusy({ account_id });
      for (let picks = slots.take([endpoint]); picks.length > 0; picks = slots.take([endpoint]))
        for (const pick of picks) {
          count++;
          slots.free(pick);
          endpoint.finish(pick.delivery, { delivered: true, latencyMs: QUICK_MS }, undefined);
        }
    }
    return count;
  };
  expect(countAll()).toBe(atOnce);
  ms += 2_000;
  expect(countAll()).toBe(2 * perSecond);
  expect(slots.take([createBusy()])).toHaveLength(1);
});

test("a delivery of which no attempt was made costs nothing, and is taken again", () => {
  const slots = new Slots(() => 0);
  const endpoint = createBusy();
  for (let i = 0; i < 2 * boundsOf("deliveries", "free").atOnce; i++) {
    const [pick] = slots.take([endpoint]);
    if (pick === undefined) throw new Error("Nothing is delivered.");
    slots.putBack(pick);
  }
  expect(slots.used).toBe(0);
});

test("a webhook of which no delivery was successful rests after each attempt", () => {
  const endpoint = createBusy();
  const row = endpoint.take(performance.now());
  if (row === undefined) throw new Error("Nothing is delivered.");
  endpoint.finish(row, { delivered: false, latencyMs: QUICK_MS }, performance.now());
  expect(endpoint.take(performance.now())).toBeUndefined();
  expect(endpoint.take(performance.now() + 1_001)).toBeDefined();
});

test("a webhook that was successful has several in flight, also after a failure", () => {
  const endpoint = createBusy();
  countAtOnce(endpoint, QUICK_MS);
  const row = endpoint.take(performance.now());
  if (row === undefined) throw new Error("Nothing is delivered.");
  endpoint.finish(row, { delivered: false, latencyMs: QUICK_MS }, performance.now());
  expect(countAtOnce(endpoint, QUICK_MS)).toBe(5);
});

test("that a webhook was successful is known to the next worker, and noted once", () => {
  const endpoint = createBusy();
  const end = { delivered: true, latencyMs: QUICK_MS };
  const noted = Array.from({ length: 2 }, () => {
    const row = endpoint.take(performance.now());
    return row === undefined ? undefined : endpoint.finish(row, end, undefined).wanted;
  });
  expect(noted).toEqual([true, false]);
  expect(createBusy({ is_wanted: true }).isProven(performance.now())).toBe(true);
});

test("a slow webhook gets one at a time, until it has been quick several times", () => {
  const endpoint = createBusy();
  const latencies = [SLOW_MS, SLOW_MS, QUICK_MS, QUICK_MS, QUICK_MS];
  expect(latencies.map((latencyMs) => countAtOnce(endpoint, latencyMs))).toEqual([1, 1, 1, 1, 5]);
});

test("what a worker has noted of it is known to the next one", () => {
  const endpoint = createBusy({ is_slow: true });
  expect(endpoint.isThrottled(performance.now())).toBe(true);
  const [delivery] = new Slots().take([endpoint]);
  if (delivery === undefined) throw new Error("Nothing is delivered.");
  const end = { delivered: true, latencyMs: QUICK_MS };
  expect(endpoint.finish(delivery.delivery, end, undefined).slow).toBeUndefined();
  const quick = Array.from({ length: 3 }, () => {
    const row = endpoint.take(performance.now());
    return row === undefined ? undefined : endpoint.finish(row, end, undefined).slow;
  });
  expect(quick.filter((slow) => slow !== undefined)).toEqual([false]);
});

test("slow webhooks share half of the places, new ones have one each, and quick ones five", () => {
  const slots = new Slots();
  const slow = Array.from({ length: 120 }, () => createBusy({ is_slow: true }));
  const fresh = Array.from({ length: 60 }, () => createBusy());
  const quick = createBusy();
  countAtOnce(quick, QUICK_MS);
  const picks = slots.take([...slow, ...fresh, quick]);
  expect([slow, fresh, [quick]].map((each) => countOf(picks, each))).toEqual([100, 60, 5]);
  for (const pick of picks) slots.free(pick);
  expect(slots.used).toBe(0);
});

test("webhooks take turns when places are scarce", () => {
  const slots = new Slots();
  const slow = Array.from({ length: 120 }, () => createBusy({ is_slow: true }));
  const first = slots.take(slow);
  for (const pick of first) slots.free(pick);
  const next = new Set(slots.take(slow).map(({ endpoint }) => endpoint));
  const left = slow.filter((endpoint) => !first.some((pick) => pick.endpoint === endpoint));
  expect(left).toHaveLength(20);
  expect(left.every((endpoint) => next.has(endpoint))).toBe(true);
});

test("a webhook is busy while half of its queue is full, and something in it is due", () => {
  const before = performance.now() - 1;
  const endpoint = createBusy();
  expect(endpoint.isBusy(performance.now())).toBe(false);
  endpoint.add(createRows(PENDING_MAX / 2, before + 1), before);
  expect([endpoint.isBusy(before), endpoint.isBusy(performance.now())]).toEqual([false, true]);
});

const pending = (id: string, dueAt = 0): Pending =>
  pendingDelivery({ id, eventId: id, position: id.charCodeAt(0), dueAt });

const takeAll = (queue: Queue, now: number): string[] => {
  const ids: string[] = [];
  for (let row = queue.take(now); row !== undefined; row = queue.take(now)) ids.push(row.id);
  return ids;
};

test("a delivery that is read again is not attempted twice, but earlier if it is due", () => {
  const queue = new Queue();
  queue.add([pending("a"), pending("b", 100)]);
  expect(takeAll(queue, 0)).toEqual(["a"]);
  queue.add([pending("a"), pending("b", 10)]);
  expect(takeAll(queue, 0)).toEqual([]);
  expect(takeAll(queue, 10)).toEqual(["b"]);
  expect(queue.size).toBe(2);
});

test("a delivery that was put back is taken again; everything can be made due", () => {
  const queue = new Queue();
  const row = pending("a");
  queue.add([row, pending("b", 1_000)]);
  expect(queue.take(0)?.id).toBe("a");
  queue.putBack(row);
  queue.makeDue(5);
  expect(takeAll(queue, 5)).toEqual(["a", "b"]);
});
