/** Writes what came of attempts, many results with one statement. */
import type postgres from "postgres";

import type { DeliveryErrorCode } from "../../shared/contracts/webhook-schemas.ts";
import { encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";

/** A webhook that only fails for this long is disabled. */
export const FAILING_SECONDS_MAX = 5 * 86_400;

export type Outcome = {
  status: "delivered" | "pending" | "failed";
  /** The delay of the next attempt of a pending delivery. */
  delayMs: number | null;
  latencyMs: number;
  responseStatus: number | null;
  responseBody: string | null;
  /** Why there was no response. */
  errorCode: DeliveryErrorCode | null;
  error: string | null;
};

export type Result = Outcome & { id: Uuid; webhookId: Uuid };

/** Results written with one statement. */
const BATCH = 200;

/** How long a result waits for others, and for PostgreSQL after an error. */
const COLLECT_MS = 50;
const RETRY_MS = 500;

/** Collects results, and writes them soon. */
export class ResultWriter {
  readonly #sql: postgres.Sql;
  readonly #workerId: Uuid;
  readonly #log: Log;
  readonly #onWritten: (result: Result) => void;
  readonly #waiting: Result[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<boolean> | undefined;

  constructor(sql: postgres.Sql, workerId: Uuid, log: Log, onWritten: (result: Result) => void) {
    this.#sql = sql;
    this.#workerId = workerId;
    this.#log = log;
    this.#onWritten = onWritten;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  add(result: Result): void {
    this.#waiting.push(result);
    this.#schedule(COLLECT_MS);
  }

  /** Writes everything; returns false when PostgreSQL has not taken it. */
  flush(): Promise<boolean> {
    return (this.#writing ??= this.#writeAll().finally(() => (this.#writing = undefined)));
  }

  #schedule(ms: number): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.flush().then((isWritten) => {
        if (this.waiting > 0) this.#schedule(isWritten ? 0 : RETRY_MS);
      });
    }, ms);
  }

  async #writeAll(): Promise<boolean> {
    while (this.waiting > 0) {
      const batch = this.#waiting.slice(0, BATCH);
      try {
        await writeResults(this.#sql, this.#workerId, batch);
      } catch (error) {
        this.#log.warn({ error, waiting: this.waiting }, "webhook_results_not_written");
        return false;
      }
      this.#waiting.splice(0, batch.length);
      batch.forEach(this.#onWritten);
    }
    return true;
  }
}

/**
 * Writes results of deliveries of webhooks that the worker has leased. Locks them in the order of
 * their ids, as all who change several: otherwise two could wait for each other.
 */
export async function writeResults(
  sql: postgres.Sql,
  workerId: Uuid,
  results: readonly Result[],
): Promise<void> {
  await sql`
    with locked as materialized (
      select id from webhook_deliveries where id = any (${results.map(({ id }) => id)}::uuid[]) order by id for update)
    update webhook_deliveries delivery
       set status = result.status, attempts = delivery.attempts + 1,
           next_attempt_at = case when result.status = 'pending'
             then clock_timestamp() + make_interval(secs => result."delayMs" / 1000.0) end,
           last_attempt_at = clock_timestamp() - make_interval(secs => result."latencyMs" / 1000.0),
           latency_ms = result."latencyMs", response_status = result."responseStatus",
           response_body = result."responseBody", error_code = result."errorCode", error = result.error
      from jsonb_to_recordset(${sql.json(results.map((result) => ({ ...result })))}::jsonb) as result (
             id uuid, "webhookId" uuid, status text, "delayMs" integer, "latencyMs" integer,
             "responseStatus" integer, "responseBody" text, "errorCode" text, error text),
           locked, webhooks webhook
     where locked.id = result.id and delivery.id = locked.id and webhook.id = result."webhookId" and webhook.leased_by = ${workerId}`;
}

/**
 * The changes by an attempt: whether every attempt fails now, and whether the webhook is slow, each
 * undefined if it stays; `recovered` when it had failed for long, `wanted` when it was the first
 * successful one.
 */
export type HealthChange = {
  failing: boolean | undefined;
  slow: boolean | undefined;
  recovered: boolean;
  wanted: boolean;
};

/** Notes what an attempt to deliver to a URL has changed of a leased webhook. */
export const noteHealth = (
  sql: postgres.Sql,
  workerId: Uuid,
  { id, url }: { id: Uuid; url: string },
  { failing, slow, wanted }: HealthChange,
) => sql`
  update webhooks
     set failing_since = case ${failing ?? null}::boolean when true then coalesce(failing_since, clock_timestamp())
                                                  when false then null else failing_since end,
         is_slow = coalesce(${slow ?? null}, is_slow),
         is_wanted = is_wanted or ${wanted} and url = ${url}
   where id = ${id} and leased_by = ${workerId}`;

/** Makes everything that waits for a webhook due; locks it as {@link writeResults} does. */
export const makeDue = (sql: postgres.Sql, webhookId: Uuid) => sql`
  with locked as materialized (
    select id from webhook_deliveries where webhook_id = ${webhookId} and status = 'pending' order by id for update)
  update webhook_deliveries delivery set next_attempt_at = clock_timestamp() from locked where delivery.id = locked.id`;

/** Disables a leased webhook, and records an event; returns whether it was active. */
export async function disable(
  sql: postgres.Sql,
  workerId: Uuid,
  { id, reason }: { id: Uuid; reason: "gone" | "failing" },
): Promise<boolean> {
  return await sql.begin(async (transaction) => {
    const [webhook] = await transaction<{ account_id: Uuid; mode: string; url: string }[]>`
      update webhooks set status = 'disabled', disabled_reason = ${reason}, updated_at = now()
       where id = ${id} and leased_by = ${workerId} and status = 'active'
      returning account_id, mode, url`;
    if (webhook === undefined) return false;
    const data = { webhook: { id: encodeId("wh", id), url: webhook.url, disabled_reason: reason } };
    await transaction`
      insert into events (id, account_id, mode, type, object_id, data, actor)
      values (${newUuid()}, ${webhook.account_id}, ${webhook.mode}, 'webhook.disabled', ${id},
              ${transaction.json(data)}, ${transaction.json({ type: "system" })})`;
    return true;
  });
}
