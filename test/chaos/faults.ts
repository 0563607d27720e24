/** The faults of the chaos test; each one ends again. */
import { cpSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";

import { connect } from "nats";

import { CLICKS_STREAM } from "../../shared/contracts/streams.ts";
import { natsLogin } from "../../shared/nats.ts";
import { eventually } from "../harness/eventually.ts";
import { type ExtraProcess, startRedirector, startWorker } from "../harness/processes.ts";
import type { Stack } from "../harness/stack.ts";
import type { LossyClickHouse } from "./lossy-clickhouse.ts";

const RESTART_TIMEOUT_MS = 30_000;

/** A process started by the test; `kill` starts a new one in its place. */
export type Replaceable = { current(): ExtraProcess; kill(): Promise<void>; stop(): Promise<void> };

export async function startReplaceableRedirector(
  stack: Stack,
  journal: string,
): Promise<Replaceable> {
  return await makeReplaceable(() => startRedirector(stack, { JOURNAL_DIR: journal }));
}

export async function startReplaceableWorker(
  stack: Stack,
  clickhouseUrl: string,
): Promise<Replaceable> {
  return await makeReplaceable(() => startWorker(stack, { CLICKHOUSE_URL: clickhouseUrl }));
}

async function makeReplaceable(start: () => Promise<ExtraProcess>): Promise<Replaceable> {
  let current = await start();
  return {
    current: () => current,
    async kill() {
      process.kill(current.pid, "SIGKILL");
      current = await eventually(start, RESTART_TIMEOUT_MS);
    },
    stop: () => current.stop(),
  };
}

/** Throws unless every process of the stack is running and NATS responds. */
export async function expectAllRunning(stack: Stack): Promise<void> {
  for (const [name, pid] of Object.entries(stack.info().pids)) {
    if (pid === null || !existsSync(`/proc/${pid}`)) throw new Error(`${name} is not running.`);
  }
  const nats = await connect({
    ...natsLogin(stack.info().nats_url),
    timeout: 2_000,
    reconnect: false,
  });
  try {
    await (await nats.jetstreamManager()).streams.info(CLICKS_STREAM);
  } finally {
    await nats.close();
  }
}

type ServiceName = "redirector" | "worker" | "api" | "nats" | "clickhouse" | "postgres";

/** Kills a process of the stack, and waits until the supervisor has restarted it. */
export async function killService(stack: Stack, name: ServiceName): Promise<void> {
  const pid = stack.info().pids[name];
  if (pid === null) throw new Error(`There is no ${name}.`);
  process.kill(pid, "SIGKILL");
  await eventually(async () => {
    if (stack.info().pids[name] === pid) throw new Error(`${name} was not restarted.`);
  }, RESTART_TIMEOUT_MS);
}

/** Freezes NATS for a while. */
export async function pauseNats(stack: Stack, ms: number): Promise<void> {
  const pid = Number(stack.info().pids.nats);
  process.kill(pid, "SIGSTOP");
  await Bun.sleep(ms);
  process.kill(pid, "SIGCONT");
}

/** Makes NATS lose the messages it has acknowledged in the last `ms`, as after a power failure. */
export async function rollBackNats(stack: Stack, ms: number): Promise<void> {
  const store = join(stack.dataDir, "nats", "store");
  const copy = join(stack.dataDir, "nats-copy");
  rmSync(copy, { recursive: true, force: true });
  const pid = Number(stack.info().pids.nats);
  process.kill(pid, "SIGSTOP");
  cpSync(store, copy, { recursive: true });
  process.kill(pid, "SIGCONT");
  await Bun.sleep(ms);

  const { pid: supervisor } = stack.supervisor;
  process.kill(supervisor, "SIGSTOP");
  try {
    process.kill(pid, "SIGKILL");
    while (existsSync(`/proc/${pid}/fd`) && !isZombie(pid)) await Bun.sleep(10);
    rmSync(store, { recursive: true });
    cpSync(copy, store, { recursive: true });
  } finally {
    process.kill(supervisor, "SIGCONT");
  }
  await eventually(async () => {
    if (stack.info().pids.nats === pid) throw new Error("NATS was not restarted.");
  }, RESTART_TIMEOUT_MS);
}

/** Whether the process has ended, but its frozen parent has not reaped it yet. */
function isZombie(pid: number): boolean {
  const { stdout } = Bun.spawnSync(["ps", "-o", "stat=", "-p", String(pid)]);
  return stdout.toString().trim().startsWith("Z");
}

/**
 * Room left in a full stream. When a bound is set below what a stream holds, the server deletes the oldest messages,
 * consumed or not. So the bound stays above it, by more than arrives between reading and setting it, and by less than
 * the redirectors publish in half a second.
 */
const ROOM_LEFT_BYTES = 128 * 1024;

/** Makes the clicks stream reject messages for a while. */
export async function fillStream(stack: Stack, ms: number): Promise<void> {
  const nats = await connect(natsLogin(stack.info().nats_url));
  const { streams } = await nats.jetstreamManager();
  const { config, state } = await streams.info(CLICKS_STREAM);
  await streams.update(CLICKS_STREAM, { max_bytes: state.bytes + ROOM_LEFT_BYTES });
  await Bun.sleep(ms);
  await streams.update(CLICKS_STREAM, { max_bytes: config.max_bytes });
  await nats.close();
}

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
