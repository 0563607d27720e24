/**
 * Events of clicks: those that a segment has of an account and mode, at most 500 in one event. The
 * id follows from these and nothing else, so an event that is made again has the same.
 */
import { createHash } from "node:crypto";

import type { Uuid } from "../../shared/ids.ts";
import { beginTurn } from "../../shared/turns.ts";
import { formatUuid } from "../../shared/uuid-bytes.ts";
import { type Click, type PersonalClick, readPersonalClicks } from "./click-rows.ts";

/** Maximum clicks of an event. */
const CLICKS_MAX = 500;

export type ClickEvent = {
  id: Uuid;
  account_id: Uuid;
  mode: string;
  data: { clicks: Click[] };
};

/** Accounts and modes, as {@link readerKey} writes them. */
export type Readers = ReadonlySet<string>;

export const readerKey = (accountId: Uuid, mode: string): string => `${accountId} ${mode}`;

/** Makes the events of rows, for the accounts and modes that have readers. */
export async function makeClickEvents(rows: Buffer, readers: Readers): Promise<ClickEvent[]> {
  const groups = new Map<string, PersonalClick[]>();
  const turn = beginTurn();
  const isWanted = (accountId: Uuid, mode: string) => readers.has(readerKey(accountId, mode));
  for (const found of readPersonalClicks(rows, isWanted)) {
    if (turn.isOver()) await turn.next();
    if (found === undefined) continue;
    const { accountId, mode, journalId, segment } = found;
    const key = `${accountId} ${mode} ${journalId} ${segment}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [found]);
    else group.push(found);
  }
  return [...groups].flatMap(([key, group]) => toEvents(key, group));
}

function toEvents(key: string, group: readonly PersonalClick[]): ClickEvent[] {
  // ClickHouse returns rows in another order than a segment has them.
  const clicks = group.toSorted((a, b) => a.idx - b.idx);
  const events: ClickEvent[] = [];
  for (let start = 0; start < clicks.length; start += CLICKS_MAX) {
    const part = clicks.slice(start, start + CLICKS_MAX);
    const [first] = part;
    if (first === undefined) break;
    const last = Math.max(...part.map(({ time }) => time));
    events.push({
      id: eventId(last, `${key} ${first.idx}`),
      account_id: first.accountId,
      mode: first.mode,
      data: { clicks: part.map(({ click }) => click) },
    });
  }
  return events;
}

/** A UUIDv7 whose random part is a hash. */
function eventId(time: number, content: string): Uuid {
  const hash = createHash("sha256").update(content).digest("hex");
  const variant = "89ab"[Number.parseInt(hash[3] ?? "0", 16) & 3] ?? "8";
  const hex = `${time.toString(16).padStart(12, "0")}7${hash.slice(0, 3)}${variant}${hash.slice(4, 19)}`;
  return formatUuid(hex);
}
