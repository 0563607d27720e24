/** The faults of the chaos test; each one ends again. */
import { cpSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";

import { connect } from "nats";

import { CLICKS_STREAM } from "../../shared/contracts/streams.ts";
import { natsLogin } from "../../shared/nats.ts";
import { eventually } from "../harness/eventually.ts";
import { type ExtraProcess, startRedirector, startWorker } from "../harness/processes.ts";
import type { Stack } from "../harness/stack.ts";
import type { Hold, LossyClickHouse } from "./lossy-clickhouse.ts";

const RESTART_TIMEOUT_MS = 30_000;

/** Longer than JetStream waits for an acknowledgement (worker/batches/stream.ts), and a batch is collected. */
const REDELIVERY_MS = 13_000;

/** Longer than an owner takes to store what is delivered to it. */
const STORED_MS = 3_000;

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

/** The statements at which a worker can be stopped: see docs/batches.md. */
const POINTS = {
  manifest: /^INSERT INTO batches[^]*"kind":"manifest"/,
  insert: /^INSERT INTO incoming_clicks /,
};

/** Two workers, of which the stack's stores directly, and the other one through the proxy. */
export type Workers = { stack: Stack; worker: Replaceable; lossy: LossyClickHouse };

const isOwner = async (metricsUrl: string): Promise<boolean> =>
  /^shorthop_worker_owner 1$/m.test(await (await fetch(new URL("/metrics", metricsUrl))).text());

async function waitForOwner(metricsUrl: () => string): Promise<void> {
  await eventually(async () => {
    if (!(await isOwner(metricsUrl()))) throw new Error("The worker does not take over.");
  }, RESTART_TIMEOUT_MS);
}

/** Pauses the stack's worker, so that the other one takes over, and holds that one's next statement of a kind. */
async function holdOwner(
  { stack, worker, lossy }: Workers,
  point: keyof typeof POINTS,
  when: "before" | "after",
): Promise<{ hold: Hold; wake: () => void }> {
  const pid = Number(stack.info().pids.worker);
  process.kill(pid, "SIGSTOP");
  const wake = () => void process.kill(pid, "SIGCONT");
  try {
    await waitForOwner(() => worker.current().metricsUrl);
    const hold = lossy.hold(POINTS[point], when);
    await hold.reached;
    return { hold, wake };
  } catch (error) {
    wake();
    throw error;
  }
}

/**
 * Kills the owner at a point of a batch. What it has sent takes effect at once, when others have taken over, or never.
 */
export async function killOwner(
  workers: Workers,
  point: keyof typeof POINTS,
  when: "before" | "after",
  effect: "late" | "never" = "never",
): Promise<void> {
  const { hold, wake } = await holdOwner(workers, point, when);
  try {
    await workers.worker.kill();
    await waitForOwner(() => workers.worker.current().metricsUrl);
  } finally {
    // The one that wakes up believes to be the owner.
    wake();
    if (effect === "late") hold.release();
    else hold.drop();
  }
}

/** Pauses the owner at a point of a batch, until another one has taken over and stored its segments. */
export async function pauseOwner(workers: Workers, point: keyof typeof POINTS): Promise<void> {
  const { hold, wake } = await holdOwner(workers, point, "before");
  const paused = workers.worker.current();
  process.kill(paused.pid, "SIGSTOP");
  try {
    wake();
    await waitForOwner(() => workers.stack.info().worker_metrics_url);
    // A manifest is settled by then; without one, JetStream has to deliver the segments again.
    if (point === "manifest") await Bun.sleep(REDELIVERY_MS);
  } finally {
    hold.release();
    process.kill(paused.pid, "SIGCONT");
  }
}

/**
 * NATS forgets the batch that the owner is inserting, and the owner is killed. Its insert arrives when redirectors have
 * published the segments again, and another owner has stored them.
 */
export async function rollBackNatsDuringInsert(workers: Workers, ms: number): Promise<void> {
  const rolledBack = rollBackNats(workers.stack, ms);
  const { hold, wake } = await holdOwner(workers, "insert", "before");
  try {
    await rolledBack;
    await workers.worker.kill();
    await waitForOwner(() => workers.worker.current().metricsUrl);
    await Bun.sleep(STORED_MS);
  } finally {
    hold.release();
    wake();
  }
}
