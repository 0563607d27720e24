/** Publishes heartbeats into the links feed, so that a redirector that gets none knows that it is cut off. */
import type { NatsConnection } from "nats";

import { HEARTBEAT_SUBJECT } from "../../shared/contracts/streams.ts";

/** Each API process publishes one this often; the stream keeps only the last. */
const INTERVAL_MS = 2_000;

/** Starts publishing; returns a function that stops it. */
export function startHeartbeat(nats: Promise<NatsConnection>): () => void {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  async function run(): Promise<void> {
    const client = (await nats).jetstream({ timeout: INTERVAL_MS });
    while (!stopped) {
      // One that fails is not repeated: the next one says the same, and link changes have the outbox.
      await client.publish(HEARTBEAT_SUBJECT, "{}").catch(() => undefined);
      await new Promise((resolve) => (timer = setTimeout(resolve, INTERVAL_MS)));
    }
  }

  void run();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
