/** Faults of single processes and stores; each one ends again. */
import { cpSync, rmSync } from "node:fs";
import { basename, join } from "node:path";

import { Glob } from "bun";

import { CLICKS_STREAM } from "../../../shared/contracts/streams.ts";
import type { LossyClickHouse } from "../../harness/lossy-clickhouse.ts";
import { endServices, pidOf } from "../../harness/services.ts";
import type { Stack } from "../../harness/stack.ts";
import { type Topology, withJetStream } from "../topologies/topology.ts";

/** The folders of a stream in which NATS keeps its consumers and messages. */
const CONSUMERS_DIR = "obs";
const MESSAGES_DIR = "msgs";

/** Freezes NATS for a while. */
export async function pauseNats(stack: Stack, ms: number): Promise<void> {
  const pid = pidOf(stack, "nats");
  process.kill(pid, "SIGSTOP");
  await Bun.sleep(ms);
  process.kill(pid, "SIGCONT");
}

/**
 * Makes NATS lose the messages that it acknowledges from now on, for so many milliseconds, as after
 * a power failure. Its consumers can be written later than its streams: with `consumers` they keep
 * what they had reached.
 */
export async function rollBackNats(
  stack: Stack,
  ms: number,
  kept: "nothing" | "consumers" = "nothing",
): Promise<void> {
  const store = join(stack.dataDir, "nats", "store");
  const copy = join(stack.dataDir, "nats-copy");
  rmSync(copy, { recursive: true, force: true });
  const pid = pidOf(stack, "nats");
  process.kill(pid, "SIGSTOP");
  cpSync(store, copy, { recursive: true });
  process.kill(pid, "SIGCONT");
  await Bun.sleep(ms);
  await endServices(stack, ["nats"], "SIGKILL", () => {
    const isRestored = (path: string) => kept === "nothing" || basename(path) !== CONSUMERS_DIR;
    if (kept === "nothing") rmSync(store, { recursive: true });
    else removeMessages(store);
    cpSync(copy, store, { recursive: true, filter: isRestored });
  });
}

function removeMessages(store: string): void {
  for (const path of new Glob(`**/${MESSAGES_DIR}/*`).scanSync({ cwd: store, dot: true }))
    rmSync(join(store, path));
}

/**
 * Room left in a full stream. When a bound is set below what a stream holds, the server deletes the
 * oldest messages, consumed or not. So the bound stays above it, by more than arrives between
 * reading and setting it, and by less than the redirectors publish in half a second.
 */
const ROOM_LEFT_BYTES = 128 * 1024;

/** Makes the clicks stream reject messages for a while. */
export const fillStream = (topology: Topology, ms: number): Promise<unknown> =>
  withJetStream(topology.connectNats(), async ({ streams }) => {
    const { config, state } = await streams.info(CLICKS_STREAM);
    await streams.update(CLICKS_STREAM, { max_bytes: state.bytes + ROOM_LEFT_BYTES });
    await Bun.sleep(ms);
    await streams.update(CLICKS_STREAM, { max_bytes: config.max_bytes });
  });

/** Makes ClickHouse fail, or lose responses, for one worker and for a while. */
export async function disturbClickHouse(
  clickhouse: LossyClickHouse,
  mode: "error" | "lose_response",
  ms: number,
): Promise<void> {
  clickhouse.setMode(mode);
  await Bun.sleep(ms);
  clickhouse.setMode("normal");
}
