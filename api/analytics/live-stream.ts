/**
 * A stream of a link's new clicks as server-sent events, for one client, fed by a shared poller.
 */
import { HOUR_MS } from "../../shared/durations.ts";
import type { Uuid } from "../../shared/ids.ts";
import type { AccountScope, Confirm } from "../http/principal.ts";
import { type ClickPoller, POLL_MS } from "./click-poller.ts";
import type { LiveRow } from "./live-rows.ts";

/**
 * Buffer of a slow client, beyond which its stream ends: about a thousand events, as many as one
 * poll returns.
 */
const BUFFER_BYTES = 256 * 1024;

/** Maximum new clicks that are held back while a resuming client's missed clicks are read. */
const PENDING_CLICKS_MAX = 5_000;

/** A client that was disconnected for longer starts from now. */
const RESUME_MS = HOUR_MS;

/** Lifetime of a stream; the client then reconnects. */
const DURATION_MS = 600_000;

/** Interval of comments that keep proxies from closing an idle connection. */
const KEEP_ALIVE_MS = 15_000;

/** The last click that a client received: its time (Unix milliseconds) and position. */
type ResumePoint = { ms: number; position: string };

export type LiveReader = {
  owner: AccountScope;
  linkId: Uuid;
  /** The `Last-Event-ID` header of the client. */
  lastEventId: string | null;
  /** Whether a click passes the reader's filters. */
  matches: (row: LiveRow) => boolean;
  /** Called every second: the stream ends when it throws. */
  confirm: Confirm;
  /** Aborted when the client disconnects. */
  signal: AbortSignal;
};

type StreamDeps = { poller: ClickPoller; now: () => number };

/**
 * Creates a stream of events for one client. It ends when the client disconnects, falls behind or
 * loses its authorisation, or when its lifetime is over.
 */
export function createStream(
  deps: StreamDeps,
  reader: LiveReader,
  release: () => void,
  onEnd: (end: () => void) => void,
) {
  let end: (() => void) | undefined;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        end = serve(deps, reader, controller, release);
        onEnd(end);
      },
      cancel: () => end?.(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: BUFFER_BYTES }),
  );
}

/** Starts writing events to a client; returns a function that ends the stream. */
function serve(
  { poller, now }: StreamDeps,
  { linkId, lastEventId, matches, confirm, signal }: LiveReader,
  controller: ReadableStreamDefaultController<Uint8Array>,
  release: () => void,
): () => void {
  const start = now();
  const resumeFrom = parseLastEventId(lastEventId, start);
  const replayed = new Set<string>();
  let pending: LiveRow[] | undefined = resumeFrom === undefined ? undefined : [];
  let lastWriteAt = start;
  let ended = false;

  function end(): void {
    if (ended) return;
    ended = true;
    unsubscribe();
    signal.removeEventListener("abort", end);
    release();
    try {
      controller.close();
    } catch {
      // The client has disconnected, so the stream is closed already.
    }
  }

  function write(text: string): void {
    if (ended) return;
    if ((controller.desiredSize ?? 0) <= 0) {
      end();
      return;
    }
    lastWriteAt = now();
    controller.enqueue(encoder.encode(text));
  }

  function writeRows(rows: readonly LiveRow[]): void {
    for (const row of rows) {
      if (replayed.has(row.position) || !isNew(row, resumeFrom, start)) continue;
      if (matches(row)) write(toEvent(row));
    }
  }

  const unsubscribe = poller.subscribe(linkId, (rows) => {
    if (pending === undefined) writeRows(rows);
    else if (pending.length + rows.length > PENDING_CLICKS_MAX) end();
    else pending.push(...rows);
  });

  async function replayMissed({ ms }: ResumePoint): Promise<void> {
    const missed = await poller.readSince(linkId, ms);
    writeRows(missed);
    for (const { position } of missed) replayed.add(position);
    const arrived = pending ?? [];
    pending = undefined;
    writeRows(arrived);
  }

  async function supervise(): Promise<void> {
    for (; !ended && now() - start < DURATION_MS; await Bun.sleep(POLL_MS)) {
      await confirm();
      if (now() - lastWriteAt >= KEEP_ALIVE_MS) write(": still here\n\n");
    }
  }

  signal.addEventListener("abort", end);
  write(`retry: ${POLL_MS}\n\n`);
  // If ClickHouse fails, the stream ends and the client reconnects.
  if (resumeFrom !== undefined) replayMissed(resumeFrom).catch(end);
  supervise().then(end, end);
  return end;
}

const encoder = new TextEncoder();

/** Whether a click is after the resume point or, without one, after the start of the stream. */
function isNew(row: LiveRow, resumeFrom: ResumePoint | undefined, start: number): boolean {
  const ms = Number(row.ms);
  if (resumeFrom === undefined) return ms >= start;
  return ms > resumeFrom.ms || (ms === resumeFrom.ms && row.position > resumeFrom.position);
}

/**
 * The point to resume from; undefined when the id is absent, malformed, too old or in the future.
 */
function parseLastEventId(lastEventId: string | null, now: number): ResumePoint | undefined {
  const [, digits, position] =
    /^(\d{13})\.([0-9a-f-]{36}\.\d{1,10}\.\d{1,5})$/.exec(lastEventId ?? "") ?? [];
  if (digits === undefined || position === undefined) return undefined;
  const ms = Number(digits);
  return ms > now || now - ms > RESUME_MS ? undefined : { ms, position };
}

function toEvent({ ms, position, ...row }: LiveRow): string {
  const { class: kind, country, region, city, browser, os, device, referrer } = row;
  const data = JSON.stringify({
    time: new Date(Number(ms)).toISOString(),
    class: kind,
    country,
    region,
    city,
    browser,
    os,
    device,
    referrer,
  });
  return `id: ${ms}.${position}\nevent: click\ndata: ${data}\n\n`;
}
