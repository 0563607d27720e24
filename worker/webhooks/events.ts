/** Reads events, and writes them as receivers get them. */
import type postgres from "postgres";

import type { Mode } from "../../shared/contracts/link-record.ts";
import type { WebhookFormat } from "../../shared/contracts/webhook-schemas.ts";
import { decodeId, encodeId, type Uuid } from "../../shared/ids.ts";
import { writeMessage } from "./messages/message.ts";

/** An event whose JSON comes from PostgreSQL as text: it goes into bodies as it is. */
export type StoredEvent = {
  id: Uuid;
  type: string;
  mode: Mode;
  data: string;
  actor: string;
  occurred_at: Date;
};

/** Reads events by their ids, as far as they are still kept. */
export async function readEvents(
  sql: postgres.Sql,
  ids: readonly Uuid[],
): Promise<Map<Uuid, StoredEvent>> {
  const rows = await sql<StoredEvent[]>`
    select id, type, mode, data::text as data, actor::text as actor, occurred_at
      from events where id = any (${[...ids]}::uuid[])`;
  return new Map(rows.map((row) => [row.id, row]));
}

/**
 * The body of a delivery: the same as in the feed of events, or a message of a chat; with clicks
 * only of `linkIds`, null for all.
 */
export function writeBody(
  { id, type, mode, data, actor, occurred_at }: StoredEvent,
  linkIds: readonly Uuid[] | null,
  format: WebhookFormat,
): Buffer {
  const head = { id: encodeId("event", id), type, created_at: occurred_at.toISOString(), mode };
  const selected = linkIds === null ? data : selectClicks(data, new Set(linkIds));
  if (format !== "standard")
    return Buffer.from(JSON.stringify(writeMessage(format, type, parseData(selected))));
  return Buffer.from(`${JSON.stringify(head).slice(0, -1)},"data":${selected},"actor":${actor}}`);
}

/** The ledger's own: the data of every event is an object. */
const parseData = (data: string) => JSON.parse(data) as Record<string, unknown>;

type ClicksData = { clicks: { link_id: string }[] };

function selectClicks(data: string, linkIds: ReadonlySet<Uuid>): string {
  // The ledger's own: `clicks.recorded` is the only event of which links are selected.
  const parsed = JSON.parse(data) as ClicksData;
  const clicks = parsed.clicks.filter(({ link_id }) => {
    const id = decodeId("link", link_id);
    return id !== undefined && linkIds.has(id);
  });
  return JSON.stringify({ ...parsed, clicks });
}
