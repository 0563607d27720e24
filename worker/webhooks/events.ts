/** Reads events, and writes them as receivers get them. */
import type postgres from "postgres";
import * as z from "zod";

import type { Mode } from "../../shared/contracts/link-record.ts";
import type { WebhookFormat } from "../../shared/contracts/webhook-schemas.ts";
import { decodeId, encodeId, type Uuid } from "../../shared/ids.ts";
import { reportContent } from "../../shared/reports/content.ts";
import { discordReport, discordSentence, slackReport, slackSentence } from "./chats.ts";

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

type Chat = Exclude<WebhookFormat, "standard">;

const WRITERS = {
  slack: { report: slackReport, sentence: slackSentence },
  discord: { report: discordReport, sentence: discordSentence },
} as const satisfies Record<Chat, unknown>;

const reportData = z.object({ report: reportContent });

/** Writes an event as a message of a chat: a report in full, any other as an English sentence. */
export function writeMessage(
  chat: Chat,
  type: string,
  data: Readonly<Record<string, unknown>>,
): object {
  const { report, sentence } = WRITERS[chat];
  const content = type === "report.ready" ? reportData.safeParse(data).data?.report : undefined;
  return content === undefined ? sentence(describeEvent(type, data)) : report(content);
}

/** Fields by which people know a thing, the best first. */
const NAMES = ["title", "name", "short_url", "domain", "email", "url", "id"] as const;

/** Verbs for a thing, by the second part of the event's type. */
const VERBS: Readonly<Record<string, string>> = {
  created: "was created",
  updated: "was changed",
  deleted: "was deleted",
  expired: "has expired",
  limit_reached: "has been opened as often as it may be",
  taken_down: "was taken down by the operator",
  restored: "is no longer taken down",
  verified: "was verified",
  displaced: "is no longer verified",
  rotated: "was replaced by a new one",
  revoked: "was revoked",
  joined: "has joined the account",
  removed: "is no longer in the account",
  disabled: "was disabled",
};

const KINDS: Readonly<Record<string, string>> = {
  link: "The link",
  account: "The account",
  domain: "The domain",
  key: "The API key",
  member: "The member",
  share: "The share",
  webhook: "The webhook",
};

const thing = z.looseObject({});
const changes = z.record(z.string(), z.unknown());
const clicks = z.array(z.looseObject({ link_id: z.string().optional() }));

/** Describes an event by its type and `data`; of types that are not known, it names the type. */
function describeEvent(type: string, data: Readonly<Record<string, unknown>>): string {
  if (type === "webhook.test") return "This is a test of the webhook.";
  if (type === "clicks.recorded") return describeClicks(data);
  const [kind = "", action = ""] = type.split(".");
  const [subject, verb] = [KINDS[kind], VERBS[action]];
  const found = thing.safeParse(data[kind]).data;
  if (subject === undefined || verb === undefined || found === undefined)
    return `Something happened: ${type}.`;
  return `${subject} ${nameOf(found)} ${verb}${describeChanges(data)}.`;
}

function nameOf(found: Readonly<Record<string, unknown>>): string {
  for (const field of NAMES) {
    const name = found[field];
    if (typeof name === "string" && name !== "") return `“${name}”`;
  }
  return "without a name";
}

/** The names of the fields that changed, without their values. */
function describeChanges(data: Readonly<Record<string, unknown>>): string {
  const fields = Object.keys(changes.safeParse(data["changes"]).data ?? {});
  return fields.length === 0 ? "" : `: ${fields.join(", ")}`;
}

function describeClicks(data: Readonly<Record<string, unknown>>): string {
  const recorded = clicks.safeParse(data["clicks"]).data ?? [];
  const links = new Set(recorded.map(({ link_id }) => link_id)).size;
  return `${count(recorded.length, "click")} on ${count(links, "link")}.`;
}

const count = (number: number, noun: string): string =>
  `${number} ${noun}${number === 1 ? "" : "s"}`;
