/**
 * Reads the last message of streams. When a disk has damaged a block, nats-server 2.9 still accepts
 * messages but returns none after the damage: links and clicks are lost in it.
 */
import type { JetStreamManager, NatsConnection } from "nats";

import { jetStreamErrorCode, NO_MESSAGE } from "./contracts/streams.ts";
import type { Log } from "./log.ts";
import { repeat } from "./repeat.ts";

/** Time between two reads: by far less than redirectors retain what was acknowledged (150 s). */
const INTERVAL_MS = 10_000;

const REQUEST_TIMEOUT_MS = 2_000;

/** Attempts to read the last message: a newer one may replace it between the two requests. */
const READ_ATTEMPTS = 5;

/** What is wrong with a stream that is not readable. */
export const UNREADABLE =
  "NATS accepts messages and does not return them: a part of its data is damaged";

/** The remedy for a stream that is not readable. */
export const unreadableRemedy = (stream: string): string =>
  `At once: nats stream rm ${stream}, and restart nats-server. Processes make the stream again and publish what they have, clicks of the last 150 s (docs/runbook.md#shorthopstreamdamaged).`;

/**
 * Whether NATS returns the last message of a stream, or it has none. The user must be permitted to
 * read messages.
 */
export async function isReadable(
  { streams }: Pick<JetStreamManager, "streams">,
  stream: string,
): Promise<boolean> {
  for (let attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
    const { state } = await streams.info(stream);
    if (state.messages === 0) return true;
    try {
      await streams.getMessage(stream, { seq: state.last_seq });
      return true;
    } catch (error) {
      if (jetStreamErrorCode(error) !== NO_MESSAGE) throw error;
    }
  }
  return false;
}

export type ReadabilityWatch = {
  /**
   * A warning to the operator with the remedy; undefined when each stream is readable, or when that
   * is unknown.
   */
  warning(): string | undefined;
  stop(): void;
};

/** Watches `streams`, and logs once for each that is not readable. */
export function watchReadability({
  nats,
  streams,
  log,
  intervalMs = INTERVAL_MS,
}: {
  nats: Promise<NatsConnection>;
  streams: readonly string[];
  log: Log;
  intervalMs?: number;
}): ReadabilityWatch {
  const damaged = new Set<string>();

  async function read(manager: JetStreamManager, stream: string): Promise<void> {
    // It may not exist yet, or NATS may be away: other warnings say so.
    const readable = await isReadable(manager, stream).catch(() => true);
    if (readable) damaged.delete(stream);
    else if (!damaged.has(stream)) {
      damaged.add(stream);
      log.error({ stream }, "stream_damaged");
    }
  }

  async function readAll(): Promise<void> {
    const connection = await nats;
    const options = { timeout: REQUEST_TIMEOUT_MS, checkAPI: false };
    const manager = await connection.jetstreamManager(options);
    for (const stream of streams) await read(manager, stream);
  }

  const reading = repeat(async () => {
    await readAll().catch((error: unknown) => log.warn({ error }, "streams_not_watched"));
    return intervalMs;
  });
  return {
    warning() {
      const [first] = damaged;
      return first === undefined
        ? undefined
        : `${[...damaged].join(", ")}: ${UNREADABLE}. ${unreadableRemedy(first)}`;
    },
    stop: () => void reading.stop(),
  };
}
