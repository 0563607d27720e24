/** Makes deliveries of the new events that a webhook gets, and reads what waits. */
import type postgres from "postgres";

import { ALL_EVENTS, isAuditType } from "../../shared/contracts/webhook-schemas.ts";
import { decodeId, newUuid, type Uuid } from "../../shared/ids.ts";
import {
  advance,
  type LeasedWebhook,
  lockLeased,
  type Pending,
  PENDING_MAX,
  type WebhookFilter,
} from "./leases.ts";

/** Events read at once: fewer where links are selected, as one can have clicks of 500 links. */
const EVENTS_MAX = 500;
const SELECTED_EVENTS_MAX = 50;

type EventRow = Omit<FilteredEvent, "clicked_link_ids"> & {
  id: Uuid;
  position: string;
  object_id: Uuid | null;
  clicked: string[] | null;
  /** Tags and short URL of the link in the event, which may have been deleted since. */
  tags: string[] | null;
  short_url: string | null;
};

type Refill = {
  /** Whether there may be events of which no deliveries have been made. */
  hasEvents: boolean;
  ownHosts: readonly string[];
};

/**
 * Makes deliveries of the webhook's next events as far as there is room for more that wait, moves
 * its position beyond them, and reads what waits; what wakes the webhook afterwards is news again.
 * Returns it with the webhook as its owner has changed it, undefined when the worker has lost the
 * lease. Statements that need no result of each other are sent together.
 */
export async function refill(
  sql: postgres.Sql,
  workerId: Uuid,
  known: LeasedWebhook,
  { hasEvents, ownHosts }: Refill,
): Promise<{ webhook: LeasedWebhook; rows: Pending[] } | undefined> {
  const { id } = known;
  return await sql.begin(async (transaction) => {
    const locked = hasEvents ? await lockLeased(transaction, workerId, id) : known;
    if (locked === undefined) return undefined;
    const events = hasEvents ? await readEvents(transaction, locked) : [];
    const deliveries = await listDeliveries(transaction, locked, events, ownHosts);
    const [, webhook, pending] = await Promise.all([
      deliveries.length > 0 ? insert(transaction, id, deliveries) : undefined,
      advance(transaction, workerId, { id, position: events.at(-1)?.position }),
      readPending(transaction, id),
    ]);
    return webhook && { webhook, rows: pending.map(toPending) };
  });
}

async function listDeliveries(
  transaction: postgres.TransactionSql,
  webhook: LeasedWebhook,
  events: readonly EventRow[],
  ownHosts: readonly string[],
): Promise<NewDelivery[]> {
  const links = await readLinks(transaction, webhook, events, ownHosts);
  return events.flatMap((row) => {
    const matched = match(webhook, toFiltered(row), links);
    if (matched === undefined) return [];
    return [{ row, linkIds: matched === "all" ? null : matched }];
  });
}

const readEvents = (
  transaction: postgres.TransactionSql,
  webhook: LeasedWebhook,
): Promise<EventRow[]> => transaction<EventRow[]>`
  select id, type, link_id, object_id, position,
         ${
           selectsLinks(webhook)
             ? transaction`
         case when type = 'clicks.recorded' then
           array(select distinct click ->> 'link_id' from jsonb_array_elements(data -> 'clicks') click) end as clicked,
         case when data #> '{link,tags}' is not null then
           array(select jsonb_array_elements_text(data #> '{link,tags}')) end as tags,
         data #>> '{link,short_url}' as short_url`
             : transaction`null as clicked, null as tags, null as short_url`
         }
    from events
   where account_id = ${webhook.account_id} and mode = ${webhook.mode}
     and position > (select position from webhooks where id = ${webhook.id})
   order by position
   limit least(
     ${selectsLinks(webhook) ? SELECTED_EVENTS_MAX : EVENTS_MAX}::bigint,
     ${PENDING_MAX} - (select count(*)
                         from (select from webhook_deliveries
                                where webhook_id = ${webhook.id} and status = 'pending' limit ${PENDING_MAX}) waiting))`;

const toFiltered = ({ type, link_id, clicked }: EventRow): FilteredEvent => ({
  type,
  link_id,
  clicked_link_ids: clicked?.flatMap((id) => decodeId("link", id) ?? []) ?? null,
});

/** Reads the links that events are about, if the webhook selects links. */
async function readLinks(
  transaction: postgres.TransactionSql,
  webhook: LeasedWebhook,
  events: readonly EventRow[],
  ownHosts: readonly string[],
): Promise<Map<Uuid, FilteredLink>> {
  const links = new Map<Uuid, FilteredLink>();
  if (events.length === 0 || (webhook.tags === null && webhook.domains === null)) return links;
  const ids = new Set<Uuid>();
  for (const event of events) {
    for (const id of toFiltered(event).clicked_link_ids ?? []) ids.add(id);
    if (event.link_id === null) continue;
    ids.add(event.link_id);
    const host = event.short_url === null ? undefined : URL.parse(event.short_url)?.host;
    links.set(event.link_id, { tags: event.tags ?? [], hosts: host === undefined ? [] : [host] });
  }
  const rows = await transaction<{ id: Uuid; tags: string[]; host: string | null }[]>`
    select id, tags, host from webhook_links(${[...ids]}::uuid[])`;
  for (const { id, tags, host } of rows)
    links.set(id, { tags, hosts: host === null ? ownHosts : [host] });
  return links;
}

type NewDelivery = { row: EventRow; linkIds: readonly Uuid[] | null };

/** Inserts deliveries; of an event that had one, it is as if there had been none. */
const insert = (
  transaction: postgres.TransactionSql,
  webhookId: Uuid,
  deliveries: readonly NewDelivery[],
) => transaction`
  insert into webhook_deliveries as delivery
         (id, webhook_id, event_id, event_type, position, order_key, link_ids, next_attempt_at)
  select id, ${webhookId}, event_id, event_type, position, order_key,
         case when link_ids is not null then array(select jsonb_array_elements_text(link_ids)::uuid) end, now()
    from jsonb_to_recordset(${transaction.json(
      deliveries.map(({ row, linkIds }) => ({
        id: newUuid(),
        event_id: row.id,
        event_type: row.type,
        position: row.position,
        order_key: row.link_id ?? row.object_id,
        link_ids: linkIds,
      })),
    )}::jsonb) as new (id uuid, event_id uuid, event_type text, position bigint, order_key uuid, link_ids jsonb)
  on conflict (webhook_id, event_id) do update
     set status = 'pending', attempts = 0, next_attempt_at = now(), link_ids = excluded.link_ids`;

type PendingRow = {
  id: Uuid;
  event_id: Uuid;
  position: string;
  order_key: Uuid | null;
  link_ids: Uuid[] | null;
  attempts: number;
  due_ms: number;
};

/**
 * Reads the deliveries of a webhook that wait. A first attempt is due at once, and so is one after
 * an attempt that is yet to come: the clock was ahead when their times were written.
 */
const readPending = (transaction: postgres.TransactionSql, webhookId: Uuid) => transaction<
  PendingRow[]
>`
  select id, event_id, position, order_key, link_ids, attempts,
         case when attempts > 0 and last_attempt_at <= clock_timestamp()
           then (extract(epoch from next_attempt_at - clock_timestamp()) * 1000)::float8 else 0 end as due_ms
    from webhook_deliveries
   where webhook_id = ${webhookId} and status = 'pending' order by position limit ${PENDING_MAX}`;

const toPending = (row: PendingRow): Pending => ({
  id: row.id,
  eventId: row.event_id,
  position: Number(row.position),
  orderKey: row.order_key,
  linkIds: row.link_ids,
  attempts: row.attempts,
  dueAt: performance.now() + row.due_ms,
});

/** The fields that decide whether an event is for a webhook. */
export type FilteredEvent = {
  type: string;
  /** Null for an event that is not about a link. */
  link_id: Uuid | null;
  /** The links of `clicks.recorded`; null for other events. */
  clicked_link_ids: readonly Uuid[] | null;
};

/** A link with its tags and the hosts at which it is served. */
export type FilteredLink = { tags: readonly string[]; hosts: readonly string[] };

/** Only the webhook that is tested gets it, and not by its filter. */
const TEST_EVENT = "webhook.test";

/** Whether a webhook wants only some links. */
const selectsLinks = ({ link_ids, tags, domains }: WebhookFilter): boolean =>
  link_ids !== null || tags !== null || domains !== null;

/**
 * Returns `all` for an event that the webhook gets whole, the links whose clicks it gets, and
 * undefined for an event that is not for it. `links` has those that still exist.
 */
export function match(
  filter: WebhookFilter,
  event: FilteredEvent,
  links: ReadonlyMap<Uuid, FilteredLink>,
): "all" | Uuid[] | undefined {
  if (event.type === TEST_EVENT || isAuditType(event.type)) return undefined;
  if (!filter.events.includes(ALL_EVENTS) && !filter.events.includes(event.type)) return undefined;
  if (!selectsLinks(filter)) return "all";
  const isSelected = (id: Uuid): boolean => selects(filter, id, links.get(id));
  if (event.clicked_link_ids !== null) {
    const selected = event.clicked_link_ids.filter(isSelected);
    return selected.length === 0 ? undefined : selected;
  }
  return event.link_id === null || isSelected(event.link_id) ? "all" : undefined;
}

function selects(
  { link_ids, tags, domains }: WebhookFilter,
  id: Uuid,
  link: FilteredLink | undefined,
): boolean {
  if (link_ids !== null && !link_ids.includes(id)) return false;
  if (tags !== null && !tags.some((tag) => link?.tags.includes(tag))) return false;
  return domains === null || domains.some((domain) => link?.hosts.includes(domain));
}
