/**
 * Carries sealed pages from the journal to JetStream, oldest first, and deletes each after its
 * acknowledgement. It only ever reads what is on disk, so the normal path is the recovery path.
 */
import { readFile, unlink } from "node:fs/promises";

import type { JetStreamClient, NatsConnection } from "nats";

import { pageIdText } from "../../shared/contracts/click-page.ts";
import { CLICKS_SUBJECT, ensureClicksStream } from "../../shared/contracts/streams.ts";
import type { Log } from "../../shared/log.ts";
import type { SealedPage } from "./files.ts";

/** Pages on their way at once. */
const IN_FLIGHT_MAX = 8;

const PUBLISH_TIMEOUT_MS = 5_000;
const BACKOFF_MS = { first: 100, max: 5_000 };

export type Publisher = {
  /** Takes a sealed page; it will be published, however long that takes. */
  add(page: SealedPage): void;
  /** Ends after the pages on their way; what is left stays in the journal. */
  stop(): void;
};

type PublisherDeps = {
  nats: Promise<NatsConnection>;
  streamBytesMax: number;
  log: Log;
  /** Told after a page's file is deleted. */
  onReleased: (page: SealedPage) => void;
};

export function startPublisher({
  nats,
  streamBytesMax,
  log,
  onReleased,
}: PublisherDeps): Publisher {
  const queue: SealedPage[] = [];
  let inFlight = 0;
  let stopped = false;
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
        await client.publish(CLICKS_SUBJECT, await readFile(page.path), {
          msgID: pageIdText(page),
        });
        await unlink(page.path);
        onReleased(page);
        return;
      } catch (error) {
        // The stream may be gone or full, or NATS away: the page waits in its file, under its id.
        jetStream = undefined;
        log.warn({ error, page: pageIdText(page) }, "page_publish_failed");
        await Bun.sleep(wait);
      }
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

  return {
    add(page) {
      queue.push(page);
      pump();
    },
    stop: () => void (stopped = true),
  };
}
