import { expect, test } from "bun:test";

import { newUuid } from "../../shared/ids.ts";
import { createEndpoint, type Endpoint } from "./endpoint.ts";
import type { LeasedWebhook } from "./leases.ts";
import { type Pending, PENDING_MAX } from "./queue.ts";
import { createSlots } from "./slots.ts";

const SLOW_MS = 3_000;
const QUICK_MS = 20;

/** Deliveries that are due and wait for no others. */
const createRows = (count: number, dueAt: number): Pending[] =>
  Array.from({ length: count }, (_, position) => ({
    id: newUuid(),
    eventId: newUuid(),
    position,
    orderKey: null,
    linkIds: null,
    attempts: 0,
    dueAt,
  }));

/** A webhook with 100 deliveries that are due and wait for no others. */
function createBusy(more: Partial<LeasedWebhook> = {}): Endpoint {
  const now = performance.now();
  const endpoint = createEndpoint(
    {
      id: newUuid(),
      account_id: newUuid(),
      mode: "live",
      url: "https://hooks.example.com/",
      format: "standard",
      events: ["*"],
      link_ids: null,
      tags: null,
      domains: null,
      salt: new Uint8Array(16),
      old_salt: null,
      failing_seconds: null,
      is_slow: false,
      ...more,
    },
    now,
  );
  endpoint.add(createRows(100, now), now);
  return endpoint;
}

/** How many deliveries the webhook gets at once; ends them with a latency each. */
function countAtOnce(endpoint: Endpoint, latencyMs: number): number {
  const slots = createSlots();
  const picks = slots.take([endpoint]);
  for (const { delivery } of picks)
    endpoint.finish(delivery, { delivered: true, latencyMs }, undefined);
  return picks.length;
}

test("a webhook gets one delivery at first, and several once it has responded quickly", () => {
  const endpoint = createBusy();
  expect([countAtOnce(endpoint, QUICK_MS), countAtOnce(endpoint, QUICK_MS)]).toEqual([1, 5]);
});

test("a slow webhook gets one at a time, until it has been quick several times", () => {
  const endpoint = createBusy();
  const latencies = [SLOW_MS, SLOW_MS, QUICK_MS, QUICK_MS, QUICK_MS];
  expect(latencies.map((latencyMs) => countAtOnce(endpoint, latencyMs))).toEqual([1, 1, 1, 1, 5]);
});

test("what a worker has noted of it is known to the next one", () => {
  const endpoint = createBusy({ is_slow: true });
  expect(endpoint.isThrottled(performance.now())).toBe(true);
  const [delivery] = createSlots().take([endpoint]);
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
  const slots = createSlots();
  const slow = Array.from({ length: 120 }, () => createBusy({ is_slow: true }));
  const fresh = Array.from({ length: 60 }, () => createBusy());
  const quick = createBusy();
  countAtOnce(quick, QUICK_MS);
  const picks = slots.take([...slow, ...fresh, quick]);
  const countOf = (endpoints: readonly Endpoint[]) =>
    picks.filter(({ endpoint }) => endpoints.includes(endpoint)).length;
  expect([countOf(slow), countOf(fresh), countOf([quick])]).toEqual([100, 60, 5]);
  for (const pick of picks) slots.free(pick);
  expect(slots.used()).toBe(0);
});

test("webhooks take turns when places are scarce", () => {
  const slots = createSlots();
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
