/** The statements on remembered requests. */
import type { Mode } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { Sql } from "../postgres.ts";

/** A request as the database knows it: whose it is, and hashes of its key and of itself. */
export type Request = { accountId: Uuid; mode: Mode; keyHash: Uint8Array; requestHash: Uint8Array };

export type Remembered = {
  /** Whether the asker has the request now, and must do it. */
  claimed: boolean;
  resource_id: Uuid;
  request_hash: Uint8Array;
  answer: Uint8Array | null;
};

/** How long a repeat is answered with the first answer. */
const KEPT_HOURS = 24;

/** How long a request may run before a repeat takes it over. */
const CLAIM_SECONDS = 60;

/**
 * Takes a request on: one that is new, one whose memory is too old, or one whose process has gone
 * silent, which keeps the id of what it was making. Otherwise gives what is known of it.
 */
export async function claimRequest(
  sql: Sql,
  { accountId, mode, keyHash, requestHash }: Request,
  resourceId: Uuid,
): Promise<Remembered> {
  const [claimed] = await sql<Omit<Remembered, "claimed">[]>`
    insert into idempotency_keys as known
           (account_id, mode, key_hash, request_hash, resource_id, claimed_until)
    values (${accountId}, ${mode}, ${keyHash}, ${requestHash}, ${resourceId},
            clock_timestamp() + make_interval(secs => ${CLAIM_SECONDS}))
    on conflict (account_id, mode, key_hash) do update
       set request_hash = excluded.request_hash, claimed_until = excluded.claimed_until, answer = null,
           created_at = excluded.created_at,
           resource_id = case when known.created_at < clock_timestamp() - make_interval(hours => ${KEPT_HOURS})
                              then excluded.resource_id else known.resource_id end
     where known.created_at < clock_timestamp() - make_interval(hours => ${KEPT_HOURS})
        or (known.answer is null and known.claimed_until < clock_timestamp()
            and known.request_hash = excluded.request_hash)
    returning resource_id, request_hash, answer`;
  if (claimed !== undefined) return { claimed: true, ...claimed };
  const [known] = await sql<Omit<Remembered, "claimed">[]>`
    select resource_id, request_hash, answer from idempotency_keys
     where account_id = ${accountId} and mode = ${mode} and key_hash = ${keyHash}`;
  if (known === undefined) throw new Error("A remembered request vanished.");
  return { claimed: false, ...known };
}

/** Remembers the answer to a claimed request. */
export async function saveAnswer(sql: Sql, request: Request, answer: Uint8Array): Promise<void> {
  await sql`
    update idempotency_keys set answer = ${answer}
     where account_id = ${request.accountId} and mode = ${request.mode} and key_hash = ${request.keyHash}`;
}

/** Lets a repeat take the request over at once. */
export async function releaseRequest(sql: Sql, request: Request): Promise<void> {
  await sql`
    update idempotency_keys set claimed_until = '-infinity'
     where account_id = ${request.accountId} and mode = ${request.mode} and key_hash = ${request.keyHash}`;
}

/** Forgets requests whose repeats are no longer answered. */
export async function forgetRequests(sql: Sql): Promise<void> {
  await sql`
    delete from idempotency_keys
     where created_at < clock_timestamp() - make_interval(hours => ${KEPT_HOURS})`;
}
