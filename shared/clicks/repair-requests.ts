/**
 * Requests to repair rollups, in ClickHouse's table `rollup_repairs`. The command line appends
 * requests, and the owner of the clicks executes them between its inserts: only the owner knows
 * when no insert is half done.
 */
import { HOUR_SECONDS } from "../durations.ts";
import { newUuid, type Uuid } from "../ids.ts";
import { type ClickHouse, queryRows } from "./query.ts";
import type { BucketRange } from "./rollups.ts";

/** How long a request is valid before a worker starts it. */
export const REQUEST_SECONDS_MAX = 60;

/**
 * How long after its start a request is continued by the next owner, if the owner that started it
 * has ended.
 */
const STARTED_SECONDS_MAX = HOUR_SECONDS;

export type RepairRequest = { id: Uuid; range: BucketRange };

export type RepairState = { state: "requested" | "started" } | { state: "done"; rebuilt: number };

async function append(
  clickhouse: ClickHouse,
  { id, range }: RepairRequest,
  state: RepairState,
): Promise<void> {
  await clickhouse.command({
    query: `
      INSERT INTO rollup_repairs (id, state, range_from, range_to, rebuilt)
      SELECT {id: UUID}, {state: String}, {from: UInt32}, {to: UInt32}, {rebuilt: UInt64}
      SETTINGS async_insert = 0, distributed_foreground_insert = 1`,
    query_params: {
      id,
      state: state.state,
      ...range,
      rebuilt: state.state === "done" ? state.rebuilt : 0,
    },
  });
}

/** Requests the repair of all buckets within the range that differ. */
export async function requestRepair(
  clickhouse: ClickHouse,
  range: BucketRange,
): Promise<RepairRequest> {
  const request = { id: newUuid(), range };
  await append(clickhouse, request, { state: "requested" });
  return request;
}

/** Records that the repair has started, or is done. */
export const reportRepair = append;

/** Reads the state of a repair. */
export async function readRepair(clickhouse: ClickHouse, id: Uuid): Promise<RepairState> {
  const rows = await queryRows<{ state: RepairState["state"]; rebuilt: string }>(
    clickhouse,
    "SELECT state, rebuilt FROM rollup_repairs WHERE id = {id: UUID}",
    { id },
  );
  const done = rows.find(({ state }) => state === "done");
  if (done !== undefined) return { state: "done", rebuilt: Number(done.rebuilt) };
  return { state: rows.some(({ state }) => state === "started") ? "started" : "requested" };
}

/**
 * Reads the open requests: new ones, and those that an earlier owner started and did not finish.
 */
export async function readRequests(clickhouse: ClickHouse): Promise<RepairRequest[]> {
  const rows = await queryRows<{ id: Uuid; from: number; to: number }>(
    clickhouse,
    `SELECT id, any(range_from) AS from, any(range_to) AS to
       FROM rollup_repairs
      GROUP BY id
     HAVING countIf(state = 'done') = 0
        AND (maxIf(at, state = 'requested') > now64(3) - INTERVAL {requested: UInt32} SECOND
             OR maxIf(at, state = 'started') > now64(3) - INTERVAL {started: UInt32} SECOND)
      ORDER BY min(at)`,
    { requested: REQUEST_SECONDS_MAX, started: STARTED_SECONDS_MAX },
  );
  return rows.map(({ id, from, to }) => ({ id, range: { from, to } }));
}
