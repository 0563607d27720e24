/** Goal: an operator hears of ClickHouse's disk before it is full. */
import { expect, test } from "bun:test";

import type { ClickHouseReader } from "../shared/clicks/query.ts";
import { eventually } from "../test/harness/eventually.ts";
import { asClient, workerContext } from "../test/harness/worker-context.ts";
import { describeRoom, DiskRoom } from "./disk-room.ts";

const GIB = 1024 ** 3;

test("a disk is nearly full when it has less room than a fifth of the tables", () => {
  expect(describeRoom({ free: 20 * GIB, used: 100 * GIB })).toBeUndefined();
  expect(describeRoom({ free: 19.5 * GIB, used: 100 * GIB })).toBe(
    "the disk of ClickHouse is nearly full: 19.5 GiB are left, and its tables have 100.0 GiB; when it is full, clicks wait in CLICKS, for 72 hours",
  );
  expect(describeRoom({ free: 0.1 * GIB, used: 0 })).toBeUndefined();
  expect(describeRoom({ free: 0.01 * GIB, used: 0 })).toContain("10 MiB are left");
});

test("the warning goes away when there is room, and when nothing is known", async () => {
  let free: number | undefined = 1;
  const clickhouse: ClickHouseReader = {
    query: async () => {
      if (free === undefined) throw new Error("ClickHouse is down.");
      // The only query selects these columns.
      return { json: async <Row>() => [{ free: String(free), used: "1000" }] as Row[] };
    },
  };
  const room = new DiskRoom(workerContext({ clickhouse: asClient(clickhouse) }), 10);
  for (const next of [GIB, undefined]) {
    free = 1;
    await eventually(async () => expect(room.warning).toContain("nearly full"));
    free = next;
    await eventually(async () => expect(room.warning).toBeUndefined());
  }
  room.stop();
});
