import { expect, test } from "bun:test";

import { Queue } from "./endpoint.ts";
import type { Pending } from "./leases.ts";

const pending = (id: string, position: number, orderKey: string | null, dueAt = 0): Pending => ({
  id,
  eventId: id,
  position,
  orderKey,
  linkIds: null,
  attempts: 0,
  dueAt,
});

const takeAll = (queue: Queue, now: number): string[] => {
  const ids: string[] = [];
  for (let row = queue.take(now); row !== undefined; row = queue.take(now)) ids.push(row.id);
  return ids;
};

test("deliveries with one key are made one after another, others beside them", () => {
  const queue = new Queue();
  const first = pending("a1", 1, "a");
  queue.add([pending("b1", 3, "b"), pending("a2", 2, "a"), first, pending("free", 4, null)]);
  expect(takeAll(queue, 0)).toEqual(["a1", "b1", "free"]);
  queue.finish(first, undefined);
  expect(takeAll(queue, 0)).toEqual(["a2"]);
});

test("a delivery waits for an earlier one that is attempted again later", () => {
  const queue = new Queue();
  const first = pending("a1", 1, "a");
  queue.add([first, pending("a2", 2, "a")]);
  expect(takeAll(queue, 0)).toEqual(["a1"]);
  queue.finish(first, 50);
  expect(takeAll(queue, 49)).toEqual([]);
  expect(queue.nextDueAt).toBe(50);
  expect(takeAll(queue, 50)).toEqual(["a1"]);
  expect(first.attempts).toBe(1);
});

test("a delivery that is read again is not attempted twice, but earlier if it is due", () => {
  const queue = new Queue();
  queue.add([pending("a", 1, null), pending("b", 2, null, 100)]);
  expect(takeAll(queue, 0)).toEqual(["a"]);
  queue.add([pending("a", 1, null), pending("b", 2, null, 10)]);
  expect(takeAll(queue, 0)).toEqual([]);
  expect(takeAll(queue, 10)).toEqual(["b"]);
  expect(queue.size).toBe(2);
});

test("a delivery that was put back is taken again; everything can be made due", () => {
  const queue = new Queue();
  const row = pending("a", 1, null);
  queue.add([row, pending("b", 2, null, 1_000)]);
  expect(queue.take(0)?.id).toBe("a");
  queue.putBack(row);
  queue.makeDue(5);
  expect(takeAll(queue, 5)).toEqual(["a", "b"]);
});
