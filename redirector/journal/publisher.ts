/**
 * Carries sealed pages from the journal to JetStream, oldest first. It only ever reads what is on disk, so
 * the normal path is the recovery path. A page's file stays for a while after its acknowledgement: a NATS
 * server that loses power, or is set back to a backup, forgets what it has acknowledged, so whenever it
 * comes back all of these are published again. What it still has, it knows by the page's id.
 */
import { closeSync, openSync, readSync } from "node:fs";
import { open as openFile, truncate, unlink } from "node:fs/promises";
import { dirname } from "node:path";

import { Events, type JetStreamClient, type NatsConnection } from "nats";

import { PAGE_BYTES_MAX, pageIdText } from "../../shared/contracts/click-page.ts";
import { CLICKS_SUBJECT, ensureClicksStream } from "../../shared/contracts/streams.ts";
import type { Log } from "../../shared/log.ts";
import type { SealedPage } from "./files.ts";

/** Pages on their way at once. */
const IN_FLIGHT_MAX = 8;

/** Longer than NATS takes by default until it forces what it has to the disk (`sync_interval`, 2 minutes). */
const GRACE_MS = 150_000;

/** Beyond so many bytes the oldest acknowledged pages go sooner. */
const GRACE_BYTES_MAX = 256 * 1024 ** 2;

/**
 * How often pages that JetStream does not have are forced to the disk: with the age of an open page this
 * bounds what a loss of power costs. Pages that are delivered sooner cost no `fsync`.
 */
const SWEEP_MS = 200;

const PUBLISH_TIMEOUT_MS = 5_000;
const BACKOFF_MS = { first: 100, max: 5_000 };

/** In place of a time: the page is being published once more. */
const AGAIN = -1;

export type Publisher = {
  /** Takes a sealed page; it will be published, however long that takes. */
  add(page: SealedPage): void;
  /** Ends: what is acknowledged is deleted, what is left stays in the journal. */
  stop(): Promise<void>;
};

type PublisherDeps = {
  nats: Promise<NatsConnection>;
  streamBytesMax: number;
  log: Log;
  /** Told of a page's first acknowledgement. */
  onDelivered: () => void;
  /** Told after a page's file is emptied, so that it may be used again, or deleted. */
  onReleased: (page: SealedPage) => void;
};

export function startPublisher({
  nats,
  streamBytesMax,
  log,
  onDelivered,
  onReleased,
}: PublisherDeps): Publisher {
  const queue: SealedPage[] = [];
  const delivered = new Map<string, { page: SealedPage; until: number }>();
  const unsynced = new Set<string>();
  /** Memory that pages are read into, over and over. */
  const rooms: Buffer[] = [];
  let graceBytes = 0;
  let inFlight = 0;
  let stopped = false;
  let sweeping = Promise.resolve();
  let jetStream: Promise<JetStreamClient> | undefined;

  async function open(): Promise<JetStreamClient> {
    const connection = await nats;
    await ensureClicksStream(await connection.jetstreamManager(), streamBytesMax);
    return connection.jetstream({ timeout: PUBLISH_TIMEOUT_MS });
  }

  async function publish(page: SealedPage): Promise<void> {
    for (let wait = BACKOFF_MS.first; !stopped; wait = Math.min(wait * 2, BACKOFF_MS.max)) {
      try {
        jetStream ??= open();
        const client = await jetStream;
        const room = rooms.pop() ?? Buffer.allocUnsafeSlow(PAGE_BYTES_MAX);
        await client.publish(CLICKS_SUBJECT, readPage(page, room), { msgID: pageIdText(page) });
        // Without an acknowledgement the client may still have to send it.
        rooms.push(room);
        keep(page);
        return;
      } catch (error) {
        // The stream may be gone or full, or NATS away: the page waits in its file, under its id.
        jetStream = undefined;
        log.warn({ error, page: pageIdText(page) }, "page_publish_failed");
        await Bun.sleep(wait);
      }
    }
  }

  function keep(page: SealedPage): void {
    unsynced.delete(page.path);
    if (!delivered.has(page.path)) onDelivered();
    delivered.set(page.path, { page, until: Date.now() + GRACE_MS });
    graceBytes += page.bytes;
  }

  /** Their folder as well, for a file that nobody finds is none. */
  async function sync(): Promise<void> {
    const paths = [...unsynced];
    unsynced.clear();
    for (const path of [...paths, ...new Set(paths.map(dirname))]) {
      const file = await openFile(path, "r");
      try {
        await file.sync();
      } finally {
        await file.close();
      }
    }
  }

  /** Removes what has been kept for long enough; in a map the oldest come first. */
  async function sweep(now: number, remove: (path: string) => Promise<void>): Promise<void> {
    for (const { page, until } of delivered.values()) {
      if (until > now && graceBytes <= GRACE_BYTES_MAX) return;
      if (until === AGAIN) continue;
      delivered.delete(page.path);
      graceBytes -= page.bytes;
      await remove(page.path);
      onReleased(page);
    }
  }

  /** All that was acknowledged by a server that may have forgotten it. */
  function publishAgain(): void {
    for (const [path, { page, until }] of delivered) {
      if (until === AGAIN) continue;
      delivered.set(path, { page, until: AGAIN });
      graceBytes -= page.bytes;
      queue.push(page);
    }
    pump();
  }

  async function watch(): Promise<void> {
    for await (const { type } of (await nats).status()) {
      if (type === Events.Reconnect) publishAgain();
    }
  }

  function pump(): void {
    while (inFlight < IN_FLIGHT_MAX && !stopped) {
      const page = queue.shift();
      if (page === undefined) return;
      inFlight++;
      void publish(page).finally(() => {
        inFlight--;
        pump();
      });
    }
  }

  void watch().catch((error: unknown) => log.warn({ error }, "connection_not_watched"));
  const timer = setInterval(() => {
    sweeping = sweeping
      .then(() => sweep(Date.now(), truncate))
      .then(sync)
      .catch((error: unknown) => log.error({ error }, "journal_not_kept_in_order"));
  }, SWEEP_MS);

  return {
    add(page) {
      queue.push(page);
      unsynced.add(page.path);
      pump();
    },
    async stop() {
      stopped = true;
      clearInterval(timer);
      await sweeping;
      await sweep(Infinity, unlink);
    },
  };
}

/** This thread has nothing else to do: it may wait for the disk. */
function readPage({ path, bytes }: SealedPage, room: Buffer): Buffer {
  const file = openSync(path, "r");
  try {
    const read = readSync(file, room, 0, bytes, 0);
    if (read < bytes) throw new Error(`${path} has ${read} bytes of ${bytes}.`);
    return room.subarray(0, bytes);
  } finally {
    closeSync(file);
  }
}
