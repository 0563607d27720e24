/** SQL statements of the worker on the ledger of events (`api/migrations/0006_events.sql`). */
import type postgres from "postgres";

import { boundsOf, PLANS } from "../../shared/budgets.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { LogPlace } from "../batches/batch-log.ts";
import type { ClickEvent } from "./click-events.ts";

/** Accounts that read events of clicks, or have a webhook for them; at most `max`. */
export const findReaders = async (
  sql: postgres.Sql,
  max: number,
): Promise<{ account_id: Uuid; mode: string }[]> =>
  await sql<{ account_id: Uuid; mode: string }[]>`
    select account_id, mode from event_readers where read_at > now() - interval '7 days'
    union
    select account_id, mode from webhooks where events && array['*', 'clicks.recorded']
    limit ${max}`;

/** Up to where the events of clicks are written; undefined while nobody reads them. */
export async function findPlace(sql: postgres.Sql): Promise<LogPlace | undefined> {
  const [row] = await sql<{ epoch: number | null; batch: number | null }[]>`
    select epoch::float8 as epoch, batch::float8 as batch from event_progress where name = 'clicks'`;
  return row === undefined || row.epoch === null || row.batch === null
    ? undefined
    : { epoch: row.epoch, batch: row.batch };
}

/** Notes that nobody reads events of clicks. */
export async function clearPlace(sql: postgres.Sql): Promise<void> {
  await sql`
    update event_progress set epoch = null, batch = null where name = 'clicks' and epoch is not null`;
}

/** Bytes of events of clicks that accounts of each plan get in a day. */
const BOUNDS = Object.fromEntries(
  PLANS.map((plan) => [plan, boundsOf("click_event_bytes", plan).atOnce]),
);

/**
 * Writes events that are not there yet, as far as the accounts' budgets of a day go, and up to
 * where all are written; never back. An event `clicks.left_out` says how many clicks are in none.
 */
export async function writeEvents(
  sql: postgres.Sql,
  events: readonly ClickEvent[],
  { epoch, batch }: LogPlace,
  eventsAtOnce: number,
): Promise<void> {
  await sql.begin(async (transaction) => {
    for (let i = 0; i < events.length; i += eventsAtOnce)
      await transaction`
        select record_click_events(${transaction.json(events.slice(i, i + eventsAtOnce))}::jsonb,
                                   ${transaction.json(BOUNDS)}::jsonb)`;
    await transaction`
      update event_progress set epoch = ${epoch}, batch = ${batch}, reached_at = clock_timestamp()
       where name = 'clicks' and (epoch is null or (epoch, batch) < (${epoch}::bigint, ${batch}::bigint))`;
  });
}
