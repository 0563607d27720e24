/** Waits until the store has caught up with the feed. */
import { isInStream, type LinksStream } from "../../shared/contracts/links-streams.ts";
import type { Nats } from "../../shared/nats.ts";
import { createCoalesced } from "./coalesced.ts";
import type { HostFeed } from "./host-feed.ts";

/** Maximum time for NATS to report the end of the feed, and for the store to reach it. */
const END_TIMEOUT_MS = 500;
const CATCH_UP_TIMEOUT_MS = 2_000;
const CATCH_UP_POLL_MS = 5;

const RETRY_MS = 50;

/** After this long without NATS, an alias that a complete store lacks counts as having no link. */
const AWAY_MS = 10_000;

type CatchUpDeps = {
  /** The streams of the feed. */
  streams: readonly LinksStream[];
  nats: Pick<Nats, "connection" | "connected">;
  /** Reads the state of the feed from the store. */
  readFeed: () => HostFeed;
};

export function createCatchUp({ streams, nats, readFeed }: CatchUpDeps) {
  /** When a connection to NATS last existed, or when this process started. */
  let connectedAt = performance.now();
  let isStopped = false;

  /** The streams, each with a read of its end as its leader knows it. */
  const ends = streams.map((stream) => ({
    stream,
    readEnd: createCoalesced(async () => {
      const connection = await nats.connection;
      const options = { timeout: END_TIMEOUT_MS, checkAPI: false };
      const manager = await connection.jetstreamManager(options);
      const { created, state } = await manager.streams.info(stream.name);
      return { created, sequence: state.last_seq };
    }),
  }));

  async function catchUp({ stream: { name }, readEnd }: (typeof ends)[number]): Promise<void> {
    if (!nats.connected()) {
      if (performance.now() - connectedAt > AWAY_MS) return;
      throw new Error("NATS has just gone.");
    }
    const end = await readEnd();
    const deadline = performance.now() + CATCH_UP_TIMEOUT_MS;
    for (;;) {
      const feed = readFeed();
      const { stream, sequence } = feed.streams?.[name] ?? feed;
      if (stream === end.created && sequence >= end.sequence) return;
      if (performance.now() >= deadline) throw new Error("The links store is behind the feed.");
      await Bun.sleep(CATCH_UP_POLL_MS);
    }
  }

  return {
    /** Records whether there is a connection to NATS; must be called regularly. */
    recordConnection(): void {
      if (nats.connected()) connectedAt = performance.now();
    },
    /**
     * Waits until the store has everything that the alias's stream had at the time of the call;
     * throws when that takes too long. Without NATS there is nothing to wait for. But if the
     * connection was lost or restored only recently, others may have added a link to the feed.
     */
    async catchUp(domain: string, alias: string): Promise<void> {
      // Notices are in every stream, so any one of them is enough.
      const end = ends.find(({ stream }) => isInStream(stream, { domain, alias }));
      if (end !== undefined) await catchUp(end);
    },
    /** As `catchUp` for every stream, but waits for NATS without a time limit. */
    async waitUntilCurrent(): Promise<void> {
      while (!isStopped) {
        try {
          await nats.connection;
          if (nats.connected()) return void (await Promise.all(ends.map(catchUp)));
        } catch {
          // The stream may have no leader, or not exist yet.
        }
        await Bun.sleep(RETRY_MS);
      }
    },
    stop: (): void => void (isStopped = true),
  };
}
