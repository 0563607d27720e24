/**
 * Clicks of a link as they come, by server-sent events. ClickHouse is asked every second for what is new;
 * a click may be stored a little after younger ones, so what was just sent is looked at again and told
 * apart by its place in its journal.
 */
import { askRows, type ClickHouse } from "../../shared/clicks/rollups.ts";
import type { Uuid } from "../../shared/ids.ts";

const POLL_MS = 1_000;

/** How much later than a younger click one may be stored and still be seen. */
const OVERLAP_MS = 15_000;

/** A client that has been away for longer begins anew. */
const RESUME_MS = 3_600_000;

/** The stream ends after so long, and the client comes again. */
const DURATION_MS = 600_000;

/** A comment in between keeps proxies from taking the silence for an end. */
const KEEP_ALIVE_MS = 15_000;

const EVENTS_MAX = 1_000;

type LiveRow = {
  ms: string;
  place: string;
  class: string;
  country: string;
  region: string;
  city: string;
  browser: string;
  os: string;
  device: string;
  referrer: string;
};

/** Where a client stands: the time of the last click it has seen, and its place. */
type Position = { ms: number; place: string };

export type LiveDeps = {
  clickhouse: ClickHouse;
  linkId: Uuid;
  /** What the client sends as `Last-Event-ID`. */
  lastEventId: string | null;
  /** Whether the client may still read; asked before each look. */
  mayRead: () => Promise<boolean>;
  now: () => number;
};

/** Yields the text of the events until the client goes, may not read any more, or time is up. */
export async function* liveClicks({
  clickhouse,
  linkId,
  lastEventId,
  mayRead,
  now,
}: LiveDeps): AsyncGenerator<string> {
  const start = now();
  let last = resume(lastEventId, start);
  const from = last.ms;
  const sent = new Map<string, number>();
  let spoken = start;
  yield `retry: ${POLL_MS}\n\n`;
  while (now() - start < DURATION_MS) {
    if (!(await mayRead())) return;
    const since = Math.max(from, last.ms - OVERLAP_MS);
    const rows = await readSince(clickhouse, linkId, since);
    for (const row of rows) {
      const ms = Number(row.ms);
      if (sent.has(row.place) || isBefore({ ms, place: row.place }, from, lastEventId)) continue;
      sent.set(row.place, ms);
      if (ms > last.ms) last = { ms, place: row.place };
      spoken = now();
      yield toEvent(row);
    }
    for (const [place, ms] of sent) if (ms < last.ms - OVERLAP_MS) sent.delete(place);
    if (now() - spoken >= KEEP_ALIVE_MS) {
      spoken = now();
      yield ": still here\n\n";
    }
    await Bun.sleep(POLL_MS);
  }
}

/** Whether a click was sent before the client came back. */
function isBefore({ ms, place }: Position, from: number, lastEventId: string | null): boolean {
  const seen = parsePosition(lastEventId);
  return seen !== undefined && seen.ms === from && ms === seen.ms && place <= seen.place;
}

function resume(lastEventId: string | null, now: number): Position {
  const seen = parsePosition(lastEventId);
  if (seen === undefined || seen.ms > now || now - seen.ms > RESUME_MS)
    return { ms: now, place: "" };
  return seen;
}

function parsePosition(text: string | null): Position | undefined {
  const [, ms, place] = /^(\d{13})\.([0-9a-f-]{36}\.\d{1,10}\.\d{1,5})$/.exec(text ?? "") ?? [];
  return ms === undefined || place === undefined ? undefined : { ms: Number(ms), place };
}

const readSince = (clickhouse: ClickHouse, linkId: Uuid, since: number): Promise<LiveRow[]> =>
  askRows<LiveRow>(
    clickhouse,
    `SELECT toString(toUnixTimestamp64Milli(ts)) AS ms,
            concat(toString(journal_id), '.', toString(page), '.', toString(idx)) AS place,
            class, country, region, city, browser, os, device, referrer
       FROM clicks
      WHERE link_id = {link_id: UUID} AND ts >= fromUnixTimestamp64Milli({since: Int64})
      ORDER BY ts, place
      LIMIT {limit: UInt32}`,
    { link_id: linkId, since, limit: EVENTS_MAX },
  );

function toEvent({ ms, place, ...click }: LiveRow): string {
  const data = JSON.stringify({ time: new Date(Number(ms)).toISOString(), ...click });
  return `id: ${ms}.${place}\nevent: click\ndata: ${data}\n\n`;
}
