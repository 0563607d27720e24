/**
 * The ledger of clicks. Pages of a journal are numbered without gap, and a click knows its place: so what
 * is stored shows by itself whether anything is missing, and what a running redirector has recorded must
 * be stored, on its way, or set aside.
 */
import type { NatsConnection } from "nats";

import { askRows, type ClickHouse } from "../../shared/clicks/rollups.ts";
import { decodePage } from "../../shared/contracts/click-page.ts";
import {
  CLICKS_STREAM,
  CLICKS_WORKER,
  DEAD_CLICKS_STREAM,
} from "../../shared/contracts/streams.ts";
import type { Uuid } from "../../shared/ids.ts";

/** What a running redirector says of its journal. */
export type Told = { journal: Uuid; recorded: number; dropped: number; delivered: number };

type Ledger = {
  stored: number;
  /** Clicks stored more than once: always 0. */
  repeated: number;
  in_stream: number;
  set_aside: number;
  /** Page numbers that are nowhere: 0 but for pages of which a crash left nothing. */
  missing_pages: number;
  /** Of the running redirectors. */
  recorded: number;
  dropped: number;
  /** Recorded by running redirectors and not stored, in the stream or set aside: in their journals. */
  in_journals: number;
  journals: Journal[];
};

type Journal = {
  journal: Uuid;
  stored: number;
  in_stream: number;
  set_aside: number;
  missing_pages: number;
  recorded: number | null;
};

/** Asks redirectors; throws when one does not answer. */
export async function readRedirectors(urls: readonly string[]): Promise<Told[]> {
  return await Promise.all(
    urls.map(async (url) => {
      const text = await (await fetch(new URL("/metrics", url))).text();
      const figure = (name: string) =>
        Number(new RegExp(`^shorthop_redirector_${name} (\\S+)$`, "m").exec(text)?.[1] ?? 0);
      const journal = /^shorthop_redirector_journal_info\{journal="([0-9a-f-]{36})"\}/m.exec(text);
      if (journal?.[1] === undefined) throw new Error(`${url} is no redirector's.`);
      return {
        journal: journal[1],
        recorded: figure("clicks_recorded"),
        dropped: figure("clicks_dropped_journal_full") + figure("clicks_dropped_disk_error"),
        delivered: figure("pages_published"),
      };
    }),
  );
}

/** Draws the ledger up. What moves meanwhile is where it was when it was looked for. */
export async function readLedger(
  nats: NatsConnection,
  clickhouse: ClickHouse,
  told: readonly Told[],
): Promise<Ledger> {
  // Against the stream: what is stored in between is then seen twice rather than not at all.
  const dead = await countPages(nats, DEAD_CLICKS_STREAM, 0);
  const waiting = await countPages(nats, CLICKS_STREAM, await acknowledgedUpTo(nats));
  const stored = await askRows<StoredRow>(clickhouse, STORED);
  const known = new Map(stored.map((row) => [row.journal_id, row]));
  const ids = new Set([...known.keys(), ...waiting.keys(), ...dead.keys()]);
  for (const { journal } of told) ids.add(journal);

  const journals = [...ids].map((journal): Journal => {
    const row = known.get(journal);
    const elsewhere = [waiting.get(journal), dead.get(journal)];
    const pages = new Set(elsewhere.flatMap((found) => [...(found?.pages.keys() ?? [])]));
    const storedPages = new Set(row?.pages ?? []);
    const last = Math.max(-1, ...pages, ...storedPages);
    const present = new Set([...pages, ...storedPages]).size;
    // A page that waits and is stored already is one whose acknowledgement is on its way.
    const open = (found: Counted | undefined): number =>
      [...(found?.pages ?? [])].reduce(
        (sum, [page, clicks]) => sum + (storedPages.has(page) ? 0 : clicks),
        0,
      );
    return {
      journal,
      stored: Number(row?.clicks ?? 0),
      in_stream: open(waiting.get(journal)),
      set_aside: open(dead.get(journal)),
      missing_pages: last + 1 - present,
      recorded: told.find((one) => one.journal === journal)?.recorded ?? null,
    };
  });
  const sum = (read: (journal: Journal) => number) =>
    journals.reduce((total, journal) => total + read(journal), 0);
  return {
    stored: sum((journal) => journal.stored),
    repeated: stored.reduce((total, row) => total + Number(row.clicks) - Number(row.places), 0),
    in_stream: sum((journal) => journal.in_stream),
    set_aside: sum((journal) => journal.set_aside),
    missing_pages: sum((journal) => journal.missing_pages),
    recorded: told.reduce((total, { recorded }) => total + recorded, 0),
    dropped: told.reduce((total, { dropped }) => total + dropped, 0),
    in_journals: sum(({ recorded, stored: there, in_stream, set_aside }) =>
      recorded === null ? 0 : recorded - there - in_stream - set_aside,
    ),
    journals,
  };
}

type StoredRow = { journal_id: Uuid; clicks: string; places: string; pages: number[] };

const STORED = `
  SELECT journal_id, sum(rows) AS clicks, sum(places) AS places, groupUniqArray(page) AS pages
    FROM (SELECT journal_id, page, count() AS rows, uniqExact(idx) AS places
            FROM clicks GROUP BY journal_id, page)
   GROUP BY journal_id`;

/** Clicks by page number. */
type Counted = { pages: Map<number, number> };

/** The pages of a stream behind `after`, by journal. What is no page is passed over. */
async function countPages(
  nats: NatsConnection,
  stream: string,
  after: number,
): Promise<Map<Uuid, Counted>> {
  const { streams } = await nats.jetstreamManager();
  const { state } = await streams.info(stream);
  const counted = new Map<Uuid, Counted>();
  if (state.messages === 0) return counted;
  for (let seq = Math.max(after + 1, state.first_seq); seq <= state.last_seq; seq++) {
    const message = await streams.getMessage(stream, { seq }).catch(() => undefined);
    const page = message === undefined ? undefined : decodePage(Buffer.from(message.data));
    if (page === undefined) continue;
    const found = counted.get(page.journalId) ?? { pages: new Map<number, number>() };
    found.pages.set(page.page, page.clicks.length);
    counted.set(page.journalId, found);
  }
  return counted;
}

/** Up to where workers have acknowledged everything. */
async function acknowledgedUpTo(nats: NatsConnection): Promise<number> {
  const { consumers } = await nats.jetstreamManager();
  return (await consumers.info(CLICKS_STREAM, CLICKS_WORKER)).ack_floor.stream_seq;
}
