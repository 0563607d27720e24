/**
 * The outbox of the links log: states that a transaction adds to it become entries of the log after
 * the commit, whoever publishes these.
 */
import {
  type LinkMessage,
  type LinkRecord,
  toMessage,
} from "../../shared/contracts/link-record.ts";
import type { Sql, Transaction } from "../postgres.ts";

/** Adds states to the outbox, in their order, which the caller publishes after the commit. */
export async function addToOutbox(
  transaction: Transaction,
  records: readonly LinkRecord[],
): Promise<void> {
  if (records.length === 0) return;
  const states = records.map((record) => JSON.stringify(toMessage<LinkMessage>(record)));
  await transaction`
    insert into link_outbox (domain, alias, state)
    select domain, alias, state
      from unnest(${records.map(({ domain }) => domain)}::text[], ${records.map(({ alias }) => alias)}::text[],
                  ${states}::text[]) with ordinality as changed (domain, alias, state, place)
     order by place`;
}

/**
 * What the tail has not acknowledged: the number of states in the outbox and of entries, and the
 * time of the oldest in Unix seconds; null when there is none.
 */
type OutboxStats = { pending: number; oldest: number | null };

/** Reads what the tail has not acknowledged. An entry without states is no change. */
export async function readOutbox(sql: Sql): Promise<OutboxStats> {
  const [row] = await sql<[OutboxStats]>`
    select count(*)::int as pending, extract(epoch from min(created_at))::float8 as oldest
      from (select created_at from link_outbox
             union all
            select log.created_at from link_log log, link_log_head head
             where log.position > coalesce(head.acknowledged_position, 0) and position(E'\\n'::bytea in log.bytes) > 0) waiting`;
  return row;
}

/** The same threshold as the alert ShorthopOutboxOld. */
const WAITING_WARNING_SECONDS = 60;

/**
 * Describes how long the oldest change has been waiting, if that is too long. `now` is in
 * milliseconds.
 */
export function describeOutbox(
  { pending, oldest }: OutboxStats,
  now = Date.now(),
): string | undefined {
  if (oldest === null) return undefined;
  const seconds = Math.floor(now / 1_000 - oldest);
  if (seconds < WAITING_WARNING_SECONDS) return undefined;
  return `${pending} changes of links are not published, the oldest for ${seconds} s: redirectors serve these links as they were`;
}
