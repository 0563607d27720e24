/** The click limits of this process: their file, the ledgers in NATS, and the watch over both. */
import { join } from "node:path";

import { Events } from "nats";

import type { Log } from "../../shared/log.ts";
import type { Nats } from "../../shared/nats.ts";
import { type ClickLimits, createClickLimits } from "./click-limits.ts";
import { type Continuity, watchContinuity } from "./continuity.ts";
import { openLedgers } from "./ledgers.ts";
import { openUsesFile } from "./uses-file.ts";

/** The file in the journal's directory. */
const FILE_NAME = "click-limits";

/**
 * How long a stop waits until leases are returned; the others are returned when the process starts
 * again.
 */
const STOP_MS = 2_000;

type OpenLimits = Pick<ClickLimits, "take" | "look" | "isExhausted" | "stats"> & {
  /**
   * Why no clicks can be leased, in words; undefined when they can, or while no link has a limit.
   */
  warning(): string | undefined;
  /** How often a rollback of the ledgers was detected. */
  rollbacks(): number;
  stop(): Promise<void>;
};

/** Opens the limits; `replicas` is the stream's replica count, if this process creates it. */
export function openLimits({
  dir,
  nats,
  replicas,
  log,
}: {
  dir: string;
  nats: Pick<Nats, "connection" | "connected">;
  replicas: number;
  log: Log;
}): OpenLimits {
  const file = openUsesFile(join(dir, FILE_NAME), {
    onUnreadable: (kept) => log.error({ kept }, "click_limits_file_unreadable"),
    onUnwritable: (error) => log.error({ error }, "click_limits_file_unwritable"),
  });
  const ledgers = openLedgers(nats, replicas);
  const continuity = watchContinuity({
    connected: nats.connected,
    readStream: ledgers.readStream,
    initial: file.position,
    onPosition: file.writePosition,
    onRollback: () => limits.restore(),
    log,
  });
  watchConnection(nats, continuity).catch((error: unknown) =>
    log.warn({ error }, "nats_status_not_followed"),
  );
  const limits = createClickLimits({ ledgers, file, continuity, log });
  return {
    take: limits.take,
    look: limits.look,
    isExhausted: limits.isExhausted,
    stats: limits.stats,
    warning: () => (limits.stats().known === 0 ? undefined : continuity.problem()),
    rollbacks: continuity.rollbacks,
    async stop() {
      await limits.stop(STOP_MS);
      continuity.stop();
      file.close();
    },
  };
}

/** A connection may be lost and return between two readings of the stream's position. */
async function watchConnection(
  nats: Pick<Nats, "connection">,
  continuity: Continuity,
): Promise<void> {
  for await (const { type } of (await nats.connection).status())
    if (type === Events.Disconnect) continuity.interrupt();
}
