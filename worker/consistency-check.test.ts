/**
 * Goal: what looks wrong while clicks are stored is rebuilt only by the owner, and only if it still
 * is between inserts.
 */
import { describe, expect, test } from "bun:test";

import type { ClickHouse, Difference } from "../shared/clicks/rollups.ts";
import { newUuid } from "../shared/ids.ts";
import { eventually } from "../test/harness/eventually.ts";
import { asClient, workerContext } from "../test/harness/worker-context.ts";
import { LostOwnershipError } from "./batches/owner.ts";
import { ConsistencyCheck } from "./consistency-check.ts";
import { Counters } from "./counters.ts";
import { Repairs } from "./repairs.ts";

const HOUR = 3_600;

/** Found in every comparison of this table. */
type Wrong = Map<string, Omit<Difference, "table">[]>;

/**
 * A ClickHouse whose clicks are whole, and whose comparisons find these differences; notes the
 * tables it rebuilds.
 */
function createClickHouse(wrong: Wrong) {
  const rebuilt: string[] = [];
  let queries = 0;
  const clickhouse: ClickHouse = {
    async query({ query }) {
      queries++;
      const table = /FROM (clicks_\w+)\s+WHERE bucket >=/.exec(query)?.[1] ?? "";
      const rows = query.includes("system.tables")
        ? [{ ttl: "", now: Date.now() / 1_000 }]
        : query.includes("clicks_retention")
          ? [{ days: 0, whole_from: 0 }]
          : (wrong.get(table) ?? []).map((row) => ({ ...row, bucket_at: row.bucket }));
      // Each query selects these columns.
      return { json: async <Row>() => rows as Row[] };
    },
    async command({ query }) {
      rebuilt.push(/INSERT INTO (\w+)/.exec(query)?.[1] ?? "");
    },
  };
  return { clickhouse, rebuilt, queries: () => queries };
}

const difference = {
  subject: newUuid(),
  account: newUuid(),
  bucket: HOUR,
  missing: 5,
  surplus: 0,
  humans: 5,
  bots: 0,
};

/** PostgreSQL, which gives the lock. */
const transaction = async () => [{ locked: true }];
const sql = {
  begin: async (work: (use: typeof transaction) => unknown) => await work(transaction),
};

const contextOf = (clickhouse: ClickHouse) =>
  workerContext({ clickhouse: asClient(clickhouse), sql: sql as never });

function createRepairsOn(clickhouse: ClickHouse): Repairs {
  const context = contextOf(clickhouse);
  return new Repairs(context, new Counters(context));
}

const confirm = () => Promise.resolve();

const lost = () => Promise.reject(new LostOwnershipError("Another worker has taken over."));

describe("a suspected difference", () => {
  const suspected = [
    { table: "clicks_15m", ...difference },
    { table: "clicks_1h", ...difference },
  ];

  /** Repairs for which this is suspected, though in `clicks_15m` there was only an insert on its way. */
  function suspect() {
    const { clickhouse, rebuilt } = createClickHouse(new Map([["clicks_1h", [difference]]]));
    const repairs = createRepairsOn(clickhouse);
    const done: Difference[][] = [];
    repairs.suspect(suspected, (found) => void done.push(found));
    return { repairs, rebuilt, done };
  }

  test("is rebuilt between inserts if it is still there, and else not", async () => {
    const { repairs, rebuilt, done } = suspect();
    expect(rebuilt).toEqual([]);
    await repairs.repair(confirm);
    expect(rebuilt).toEqual(["clicks_1h"]);
    expect(done).toEqual([[{ table: "clicks_1h", ...difference }]]);
  });

  test("waits when it cannot be compared, and does not stop what is inserted", async () => {
    const { repairs, rebuilt, done } = suspect();
    await repairs.repair(() => Promise.reject(new Error("ClickHouse is down.")));
    expect([rebuilt, done]).toEqual([[], []]);
  });

  test("is not rebuilt by a worker that has lost the log, nor when it has it again", async () => {
    const { repairs, rebuilt, done } = suspect();
    const failure = await repairs.repair(lost).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(LostOwnershipError);
    await repairs.repair(confirm);
    expect([rebuilt, done]).toEqual([[], []]);
  });
});

describe("the consistency check", () => {
  test("changes nothing itself, and leaves what it finds to the repairs of the owner", async () => {
    const { clickhouse, rebuilt } = createClickHouse(new Map([["clicks_1h", [difference]]]));
    const suspected: Difference[] = [];
    let report: ((found: Difference[]) => void) | undefined;
    class NotedRepairs extends Repairs {
      override suspect(differences: Difference[], done: (found: Difference[]) => void) {
        suspected.push(...differences);
        report = done;
      }
    }
    const context = contextOf(clickhouse);
    const repairs = new NotedRepairs(context, new Counters(context));
    const check = new ConsistencyCheck(context, repairs, { owner: { epoch: 1 } }, 10);
    await eventually(async () => expect(suspected.length).toBeGreaterThan(0));
    await check.stop();
    expect([rebuilt, check.differences]).toEqual([[], 0]);
    report?.(suspected.slice(0, 1));
    expect(check.differences).toBe(1);
  });

  test("is left to the owner", async () => {
    const { clickhouse, queries } = createClickHouse(new Map());
    let asked = 0;
    const ownership = {
      get owner() {
        asked++;
        return undefined;
      },
    };
    const repairs = createRepairsOn(clickhouse);
    const check = new ConsistencyCheck(contextOf(clickhouse), repairs, ownership, 10);
    await eventually(async () => expect(asked).toBeGreaterThan(2));
    await check.stop();
    expect(queries()).toBe(0);
  });
});
