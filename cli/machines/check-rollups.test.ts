/**
 * Goal: rollups of any number of days can be compared, each day by itself, also when a query fails
 * on the way.
 */
import { describe, expect, test } from "bun:test";

import type { BucketRange, ClickHouse } from "../../shared/clicks/rollups.ts";
import { compareDays, daysOf } from "./check-rollups.ts";

const DAY = 86_400;
const HOUR = 3_600;
const MIDNIGHT = 20_000 * DAY;

/**
 * A ClickHouse whose rollups are right, and that gives up whatever reads clicks before
 * `failsBefore`.
 */
function createClickHouse(failsBefore: number) {
  const read: BucketRange[] = [];
  const clickhouse: ClickHouse = {
    async query({ query, query_params: { from, to } }) {
      if (Number(from) < failsBefore) throw new Error("TIMEOUT_EXCEEDED");
      read.push({ from: Number(from), to: Number(to) });
      const rows = query.includes("system.tables")
        ? [{ ttl: "", now: Date.now() / 1_000 }]
        : query.includes("clicks_retention")
          ? [{ days: 0, whole_from: 0 }]
          : [];
      // Each query selects these columns.
      return { json: async <Row>() => rows as Row[] };
    },
    command: () => Promise.reject(new Error("Nothing is changed.")),
  };
  return { clickhouse, read };
}

describe("a range of some days", () => {
  test("is divided at each midnight, and the last part comes first", () => {
    const range = { from: MIDNIGHT - 30 * HOUR, to: MIDNIGHT + 2 * HOUR };
    expect([...daysOf(range)]).toEqual([
      { from: MIDNIGHT, to: MIDNIGHT + 2 * HOUR },
      { from: MIDNIGHT - DAY, to: MIDNIGHT },
      { from: MIDNIGHT - 30 * HOUR, to: MIDNIGHT - DAY },
    ]);
    expect([...daysOf({ from: MIDNIGHT, to: MIDNIGHT + DAY })]).toHaveLength(1);
    expect([...daysOf({ from: MIDNIGHT, to: MIDNIGHT })]).toEqual([]);
  });

  test("is read by no query as a whole", async () => {
    const { clickhouse, read } = createClickHouse(0);
    const range = { from: MIDNIGHT - 10 * DAY, to: MIDNIGHT };
    expect(await compareDays(clickhouse, range)).toEqual([]);
    const spans = read.filter(({ from }) => from > 0);
    expect(Math.min(...spans.map(({ from }) => from))).toBe(range.from);
    expect(Math.max(...spans.map(({ from, to }) => to - from))).toBe(DAY);
  });

  test("can be compared further from where a query failed", async () => {
    const { clickhouse } = createClickHouse(MIDNIGHT - 3 * DAY);
    const comparison = compareDays(clickhouse, { from: MIDNIGHT - 10 * DAY, to: MIDNIGHT });
    const reached = new Date((MIDNIGHT - 3 * DAY) * 1_000).toISOString();
    expect(comparison).rejects.toThrow(
      `Compared back to ${reached}; go on with --before ${reached} --hours 168. TIMEOUT_EXCEEDED`,
    );
  });
});
