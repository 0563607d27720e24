/** Webhooks: creating and changing them, and their deliveries. Workers deliver. */
import { isIP } from "node:net";

import type { PendingQuery, Row } from "postgres";

import { parseWebUrl } from "../../shared/contracts/web-url.ts";
import { ALL_EVENTS, type AuditType } from "../../shared/contracts/webhook-schemas.ts";
import { DAY_SECONDS } from "../../shared/durations.ts";
import { decodeId, encodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import {
  deriveKey,
  newSalt,
  portOf,
  type ReceiverRules,
  writeSecret,
} from "../../shared/webhooks.ts";
import { actorJson, recordEvents } from "../events/record.ts";
import type { EventPositions } from "../events/service.ts";
import { presentFields } from "../http/common-schemas.ts";
import { ApiError, invalidField, notFound } from "../http/errors.ts";
import { type ListPart, type ListRequest, readPart } from "../http/pagination.ts";
import type { AccountScope, Author } from "../http/principal.ts";
import { classifyHost } from "../links/destinations.ts";
import { newestFirst, OwnedRows, OwnedService } from "../owned-rows.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type {
  CreateWebhookBody,
  DeliveryRow,
  UpdateWebhookBody,
  WebhookFields,
  WebhookRow,
} from "./model.ts";

type DeliveryStatus = DeliveryRow["status"];

/** Maximum webhooks of an account and mode. */
const WEBHOOKS_MAX = 50;

/** How long the secret before the current one signs as well. */
const OLD_SECRET_SECONDS = DAY_SECONDS;

/** A webhook with the secret that was just made. */
type WebhookWithSecret = { row: WebhookRow; secret: string };

const DEFAULTS = {
  link_ids: null,
  tags: null,
  domains: null,
  description: null,
  format: "standard",
} as const;

export class WebhookService extends OwnedService<WebhookRow> {
  readonly #sql: Sql;
  readonly #positions: EventPositions;
  readonly #rules: ReceiverRules;
  readonly #ownSecret: string | undefined;

  /**
   * Webhooks begin to read the ledger at `positions`. Secrets are derived from `ownSecret`, which
   * is undefined where webhooks are not set up.
   */
  constructor(
    sql: Sql,
    positions: EventPositions,
    rules: ReceiverRules,
    ownSecret: string | undefined,
  ) {
    super(sql, webhookRows);
    this.#sql = sql;
    this.#positions = positions;
    this.#rules = rules;
    this.#ownSecret = ownSecret;
  }

  /**
   * Creates a webhook; only this function and `rotate` return a secret. Throws `invalid_request`,
   * `invalid_url`, `quota_exceeded`, and `unavailable` where webhooks are not set up, or too many
   * events are unread.
   */
  async create(
    owner: Author,
    id: Uuid,
    { url, events, ...body }: CreateWebhookBody,
  ): Promise<WebhookWithSecret> {
    const { salt, secret } = this.#makeSecret(id);
    const required = { url: readUrl(url, this.#rules), events: readEvents(events) };
    const webhook = { ...DEFAULTS, ...readFields(body, this.#rules), ...required };
    const position = await this.#positions.last(owner);
    const row = await this.#sql.begin(async (transaction) => {
      await webhookRows.requireRoom(transaction, owner, WEBHOOKS_MAX);
      // An earlier attempt of the same request may have inserted it.
      const [row] = await transaction<[WebhookRow]>`
        insert into webhooks (id, account_id, mode, url, events, link_ids, tags, domains, description, format, salt, position)
        values (${id}, ${owner.accountId}, ${owner.mode}, ${webhook.url}, ${[...webhook.events]}::text[],
                ${webhook.link_ids}::uuid[], ${webhook.tags}::text[], ${webhook.domains}::text[],
                ${webhook.description}, ${webhook.format}, ${salt}, ${position})
        on conflict (id) do update set salt = excluded.salt
        returning ${webhookColumns(transaction)}`;
      await recordWebhook(transaction, owner, "webhook.created", row);
      return row;
    });
    return { row, secret };
  }

  /** Changes the fields in the body; throws `not_found`, `invalid_request` and `invalid_url`. */
  async update(
    owner: Author,
    id: Uuid | undefined,
    { status, ...body }: UpdateWebhookBody,
  ): Promise<WebhookRow> {
    const fields = readFields(body, this.#rules);
    const change = { ...fields, ...(status === undefined ? {} : { status }) };
    if (id === undefined) throw notFound("webhook");
    return await this.#change(owner, id, "webhook.updated", (sql) =>
      updateWebhook(sql, owner, id, change),
    );
  }

  /** Gives a webhook another secret, beside which the current one is valid for a day. */
  async rotate(owner: Author, id: Uuid | undefined): Promise<WebhookWithSecret> {
    if (id === undefined) throw notFound("webhook");
    const { salt, secret } = this.#makeSecret(id);
    const row = await this.#change(owner, id, "webhook.rotated", async (sql) => {
      const [changed] = await sql<WebhookRow[]>`
        update webhooks
           set old_salt = salt, old_until = clock_timestamp() + make_interval(secs => ${OLD_SECRET_SECONDS}),
               salt = ${salt}, updated_at = now()
         where id = ${id} and account_id = ${owner.accountId} and mode = ${owner.mode}
        returning ${webhookColumns(sql)}`;
      return changed;
    });
    return { row, secret };
  }

  /** Deletes a webhook with its deliveries; throws `not_found`. */
  async remove(owner: Author, id: Uuid | undefined): Promise<void> {
    await this.#change(owner, id, "webhook.deleted", async (sql) => {
      const webhook = await webhookRows.lock(sql, owner, id);
      await lockDeliveries(sql, webhook.id, sql``);
      return await webhookRows.delete(sql, owner, webhook.id);
    });
  }

  /** Changes a webhook and records the change; throws `not_found` if there is no such webhook. */
  #change(
    owner: Author,
    id: Uuid | undefined,
    type: AuditType,
    change: (sql: Transaction) => Promise<WebhookRow | undefined>,
  ): Promise<WebhookRow> {
    return this.#sql.begin(async (sql) => {
      const row = await webhookRows.require(await change(sql), sql, owner, id);
      await recordWebhook(sql, owner, type, row);
      return row;
    });
  }

  /** Sends a webhook an event of its own; throws `not_found`, and `conflict` unless active. */
  async test(owner: Author, id: Uuid | undefined): Promise<DeliveryRow> {
    const webhook = await this.get(owner, id);
    requireActive(webhook);
    const data = { webhook: { id: encodeId("wh", webhook.id), url: webhook.url } };
    const { accountId, mode, actor } = owner;
    const eventId = newUuid();
    return await this.#sql.begin(async (sql) => {
      await sql`
        insert into events (id, account_id, mode, type, object_id, data, actor, origin)
        values (${eventId}, ${accountId}, ${mode}, 'webhook.test', ${webhook.id}, ${sql.json(data)},
                ${sql.json(actorJson(actor))},
                ${actor.origin === undefined ? null : sql.json(actor.origin)})`;
      const [row] = await sql<[DeliveryRow]>`
        insert into webhook_deliveries (id, webhook_id, event_id, event_type, position, next_attempt_at)
        values (${newUuid()}, ${webhook.id}, ${eventId}, 'webhook.test', 0, now())
        returning ${deliveryColumns(sql)}`;
      await wake(sql, webhook.id);
      return row;
    });
  }

  /** Lists the deliveries of a webhook, newest first; throws `not_found`. */
  async listDeliveries(
    owner: AccountScope,
    id: Uuid | undefined,
    status: DeliveryStatus | undefined,
    request: ListRequest,
  ): Promise<ListPart<DeliveryRow>> {
    const webhook = await this.get(owner, id);
    const sql = this.#sql;
    const ofStatus = status === undefined ? sql`` : sql`and status = ${status}`;
    return await readPart(
      request,
      async (limit, start) =>
        await sql<DeliveryRow[]>`
          select ${deliveryColumns(sql)} from webhook_deliveries
           where webhook_id = ${webhook.id} ${ofStatus} ${newestFirst(sql, limit, start)}`,
      async () => {
        const [{ total }] = await sql<[{ total: number }]>`
          select count(*)::integer as total from webhook_deliveries
           where webhook_id = ${webhook.id} ${ofStatus}`;
        return total;
      },
    );
  }

  /** Makes a delivery due now; throws `not_found`, and `conflict` unless the webhook is active. */
  async retry(
    owner: AccountScope,
    id: Uuid | undefined,
    deliveryId: Uuid | undefined,
  ): Promise<DeliveryRow> {
    const webhook = await this.get(owner, id);
    requireActive(webhook);
    const row = await this.#sql.begin(async (sql) => {
      // The webhook is locked before its delivery, as all do.
      await wake(sql, webhook.id);
      const [retried] = await sql<DeliveryRow[]>`
        update webhook_deliveries set status = 'pending', next_attempt_at = now()
         where id = ${deliveryId ?? null} and webhook_id = ${webhook.id}
        returning ${deliveryColumns(sql)}`;
      return retried;
    });
    if (row === undefined) throw notFound("delivery");
    return row;
  }

  /**
   * Delivers all events after one again; throws `not_found`, `invalid_request`, and `unavailable`
   * when too many events are unread.
   */
  async replay(owner: Author, id: Uuid | undefined, after: string): Promise<void> {
    const webhook = await this.get(owner, id);
    const position = await this.#positions.find(owner, after);
    if (position === undefined)
      throw invalidField("starting_after", "must be the id of an event that is still kept");
    await this.#sql.begin(async (sql) => {
      await sql`
        update webhooks set position = ${position}
         where id = ${webhook.id} and account_id = ${owner.accountId} and mode = ${owner.mode}`;
      await recordWebhook(sql, owner, "webhook.replayed", webhook);
    });
  }

  #makeSecret(id: Uuid): { salt: Buffer; secret: string } {
    if (this.#ownSecret === undefined) throw notSetUp();
    const salt = newSalt();
    return { salt, secret: writeSecret(deriveKey(this.#ownSecret, id, salt)) };
  }
}

const deliveryColumns = (sql: Sql | Transaction) => sql`
  id, event_id, event_type, status, attempts, next_attempt_at, last_attempt_at, latency_ms, response_status,
  response_body, error_code, error, created_at`;

/** Wakes a webhook: what it waits for is due, whatever the clock says by then. */
const wake = (transaction: Transaction, webhookId: Uuid) =>
  transaction`update webhooks set wake_at = '-infinity' where id = ${webhookId}`;

/** Records what happened to a webhook; of its URL, which may be a secret, only the origin. */
const recordWebhook = (
  sql: Transaction,
  owner: Author,
  type: AuditType,
  { id, url, events, status }: WebhookRow,
): Promise<void> =>
  recordEvents(sql, owner, [
    {
      type,
      objectId: id,
      data: { webhook: { id: encodeId("wh", id), url: new URL(url).origin, events, status } },
    },
  ]);

function requireActive({ status }: WebhookRow): void {
  if (status !== "active") throw new ApiError("conflict", `The webhook is ${status}.`);
}

/** Converts the fields of a request. Throws `invalid_request` and `invalid_url`. */
function readFields(
  { url, events, link_ids, ...fields }: Omit<UpdateWebhookBody, "status">,
  rules: ReceiverRules,
): Partial<WebhookFields> {
  return presentFields({
    ...fields,
    url: url === undefined ? undefined : readUrl(url, rules),
    events: events === undefined ? undefined : readEvents(events),
    link_ids: link_ids === null ? null : link_ids?.map(readLinkId),
  });
}

function readEvents(events: readonly string[]): string[] {
  if (events.includes(ALL_EVENTS) && events.length > 1)
    throw invalidField("events", "must be * alone, or types");
  return [...new Set(events)];
}

function readLinkId(id: string): Uuid {
  const uuid = decodeId("link", id);
  if (uuid === undefined) throw invalidField("link_ids", "must be ids of links");
  return uuid;
}

/**
 * Checks what can be known of a receiver without resolving its name; workers check the addresses
 * whenever they connect.
 */
function readUrl(text: string, rules: ReceiverRules) {
  const parsed = parseWebUrl(text);
  if ("problem" in parsed) throw invalidUrl(parsed.problem);
  const { url } = parsed;
  if (!rules.isPortAllowed(portOf(url))) throw invalidUrl(`Port ${portOf(url)} may not be used.`);
  const address = url.hostname.replace(/^\[|\]$/g, "");
  const isAllowed =
    isIP(address) === 0
      ? rules.allowsPrivate || classifyHost(url.hostname.replace(/\.$/, "")) === "public"
      : rules.isAddressAllowed(address);
  if (!isAllowed) throw invalidUrl("The URL must lead to the public internet.");
  url.hash = "";
  return url.href;
}

const invalidUrl = (message: string): ApiError =>
  new ApiError("invalid_url", message, { param: "url" });

const notSetUp = (): ApiError =>
  new ApiError("unavailable", "This installation has no webhooks: WEBHOOKS_SECRET is not set.");

/** Events are late when one has waited for so many seconds. */
const LAG_SECONDS_MAX = 60;

/**
 * For how many seconds the event has waited that waits longest for an active webhook: to get its
 * position, for its delivery to be made, or for an attempt that is due; 0 without any. Webhooks
 * that fail or are slow do not count, nor do events for which there is no room yet. It asks
 * PostgreSQL alone, so it is also right when no worker delivers.
 */
export async function readLag(sql: Sql): Promise<number> {
  const [row] = await sql<[{ seconds: number }]>`
    select coalesce(extract(epoch from clock_timestamp() - min(least(unnumbered.since, next.since, due.since))), 0)::float8 as seconds
      from webhooks webhook
      left join lateral (
        select occurred_at as since from events
         where account_id = webhook.account_id and mode = webhook.mode and position is null
         order by sequence limit 1) unnumbered on true
      left join lateral (
        select occurred_at as since from events
         where account_id = webhook.account_id and mode = webhook.mode and position > webhook.position
           and not webhook.is_full
         order by position limit 1) next on true
      left join lateral (
        select next_attempt_at as since from webhook_deliveries
         where webhook_id = webhook.id and status = 'pending'
         order by position limit 1) due on true
     where status = 'active' and failing_since is null and not is_slow`;
  return Math.max(0, row.seconds);
}

/** Says that webhooks get events late; undefined while they do not. */
export async function lagWarning(sql: Sql): Promise<string | undefined> {
  const seconds = await readLag(sql).catch(() => 0);
  if (seconds <= LAG_SECONDS_MAX) return undefined;
  return `an event has waited for a webhook for ${Math.round(seconds)} s`;
}

const webhookColumns = (sql: Sql | Transaction) => sql`
  id, url, events, link_ids, tags, domains, description, format, status, disabled_reason, failing_since,
  case when old_until > clock_timestamp() then old_until end as old_until, created_at, updated_at`;

const webhookRows = new OwnedRows<WebhookRow>("webhooks", webhookColumns);

type WebhookChange = Partial<WebhookFields & { status: "active" | "paused" }>;

/**
 * Changes the fields of one of the owner's webhooks; undefined when there is none. One that becomes
 * active or gets a URL is as if it had never failed, and what waits is due: see
 * {@link lockDeliveries}. Whether its receiver is slow only attempts show.
 */
export async function updateWebhook(
  transaction: Transaction,
  { accountId, mode }: AccountScope,
  id: Uuid,
  { status, ...fields }: WebhookChange,
): Promise<WebhookRow | undefined> {
  const isRenewed = status === "active" || fields.url !== undefined;
  const [row] = await transaction<WebhookRow[]>`
    update webhooks set ${transaction({ ...fields, updated_at: new Date() })}
           ${status === undefined ? transaction`` : transaction`, status = ${status}`}
           ${status === "active" ? transaction`, disabled_reason = null` : transaction``}
           ${fields.url === undefined ? transaction`` : transaction`, is_wanted = false`}
           ${
             isRenewed
               ? transaction`, failing_since = null, wake_at = '-infinity', is_full = false`
               : transaction``
           }
     where id = ${id} and account_id = ${accountId} and mode = ${mode}
    returning ${webhookColumns(transaction)}`;
  if (row !== undefined && isRenewed) {
    await lockDeliveries(transaction, id, transaction`and status = 'pending'`);
    await transaction`
      update webhook_deliveries set next_attempt_at = now() where webhook_id = ${id} and status = 'pending'`;
  }
  return row;
}

/**
 * Locks deliveries of a webhook. What changes several locks them in the order of their ids, after
 * their webhook, as workers do; otherwise two could wait for each other.
 */
const lockDeliveries = (
  transaction: Transaction,
  webhookId: Uuid,
  condition: PendingQuery<Row[]>,
) => transaction`
  select count(*) from (
    select from webhook_deliveries where webhook_id = ${webhookId} ${condition} order by id for update) locked`;
