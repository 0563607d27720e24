import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";

import { PROJECT_DIR } from "../harness/stack.ts";
import { KINDS } from "./kinds.ts";
import { ALWAYS, EXERCISED, kindsTouchedBy } from "./touched.ts";

test("the few kinds end each process and each store", () => {
  expect(ALWAYS.join(", ")).toMatch(/redirector.*api.*worker.*clickhouse.*postgres.*nats/);
});

describe("kinds that a change can touch", () => {
  test("are those that exercise a changed file, or a folder with it", () => {
    expect(kindsTouchedBy(["worker/consumer/clicks-stream.ts"])).toContain("fill stream");
    expect(kindsTouchedBy(["worker/batches/owner.ts"])).toContain("pause owner before check");
    expect(kindsTouchedBy(["worker/batches/owner.ts"])).not.toContain("fill stream");
    expect(kindsTouchedBy(["redirector/journal/journal.ts"])).toContain("kill second redirector");
    expect(kindsTouchedBy(["redirector/links/follower.ts"])).toEqual(["kill nats", "pause nats"]);
  });

  test("are none for what no kind exercises, and all others when the test itself changes", () => {
    expect(kindsTouchedBy([])).toEqual([]);
    expect(kindsTouchedBy(["dashboard/src/app.tsx", "worker/metrics.test.ts"])).toEqual([]);
    const others = Object.keys(KINDS).length - ALWAYS.length;
    expect(kindsTouchedBy(["test/chaos/owner-faults.ts"])).toHaveLength(others);
  });

  test("are named by files and folders that exist", () => {
    const places = Object.values(EXERCISED).flat();
    expect(places.filter((place) => !existsSync(join(PROJECT_DIR, place)))).toEqual([]);
  });
});
