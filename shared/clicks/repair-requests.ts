/**
 * Requests to repair rollups, in ClickHouse's table `rollup_repairs`. The command line asks, and the owner of the clicks
 * carries them out between its inserts: nobody else knows when no insert is half done.
 */
import { newUuid, type Uuid } from "../ids.ts";
import { type ClickHouse, queryRows } from "./query.ts";
import type { BucketRange } from "./rollups.ts";

/** How long a request is valid that no worker has started. */
export const REQUEST_SECONDS_MAX = 60;

/** How long one that has been started is taken up by the next owner, if the one before has ended. */
const STARTED_SECONDS_MAX = 3_600;

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

/** Asks for the repair of all buckets that lie within the range and differ. */
export async function requestRepair(
  clickhouse: ClickHouse,
  range: BucketRange,
): Promise<RepairRequest> {
  const request = { id: newUuid(), range };
  await append(clickhouse, request, { state: "requested" });
  return request;
}

/** Says that the repair has begun, or is done. */
export const reportRepair = append;

/** Reads how far a repair is. */
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

/** Reads the requests that are to be carried out: new ones, and those that an owner before has not ended. */
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
