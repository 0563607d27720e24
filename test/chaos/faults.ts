/** What can go wrong, each made to happen and undone again. */
import { cpSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";

import { connect } from "nats";

import { CLICKS_STREAM } from "../../shared/contracts/streams.ts";
import { eventually } from "../harness/eventually.ts";
import { type ExtraProcess, startRedirector, startWorker } from "../harness/processes.ts";
import type { Stack } from "../harness/stack.ts";
import type { LossyClickHouse } from "./lossy-clickhouse.ts";

const RESTARTED_MS = 30_000;

/** A process of the test's own, and a new one in its place when it was killed. */
export type Replaceable = { current(): ExtraProcess; kill(): Promise<void>; stop(): Promise<void> };

export async function keepRedirector(stack: Stack, journal: string): Promise<Replaceable> {
  return await keep(() => startRedirector(stack, { JOURNAL_DIR: journal }));
}

export async function keepWorker(stack: Stack, clickhouseUrl: string): Promise<Replaceable> {
  return await keep(() => startWorker(stack, { CLICKHOUSE_URL: clickhouseUrl }));
}

async function keep(start: () => Promise<ExtraProcess>): Promise<Replaceable> {
  let current = await start();
  return {
    current: () => current,
    async kill() {
      process.kill(current.pid, "SIGKILL");
      current = await eventually(start, RESTARTED_MS);
    },
    stop: () => current.stop(),
  };
}

/** Fails unless every part of the stack is there, and NATS answers. */
export async function expectWhole(stack: Stack): Promise<void> {
  for (const [part, pid] of Object.entries(stack.info().pids)) {
    if (pid === null || !existsSync(`/proc/${pid}`)) throw new Error(`${part} is not there.`);
  }
  const nats = await connect({ servers: stack.info().nats_url, timeout: 2_000, reconnect: false });
  try {
    await (await nats.jetstreamManager()).streams.info(CLICKS_STREAM);
  } finally {
    await nats.close();
  }
}

type Part = "redirector" | "worker" | "api" | "nats" | "clickhouse" | "postgres";

/** Kills a part of the stack, and waits until there is another in its place. */
export async function killPart(stack: Stack, part: Part): Promise<void> {
  const pid = stack.info().pids[part];
  if (pid === null) throw new Error(`There is no ${part}.`);
  process.kill(pid, "SIGKILL");
  await eventually(async () => {
    if (stack.info().pids[part] === pid) throw new Error(`${part} is not back.`);
  }, RESTARTED_MS);
}

/** NATS says nothing for a while. */
export async function pauseNats(stack: Stack, ms: number): Promise<void> {
  const pid = Number(stack.info().pids.nats);
  process.kill(pid, "SIGSTOP");
  await Bun.sleep(ms);
  process.kill(pid, "SIGCONT");
}

/** NATS loses what it has acknowledged in the last `ms`, as by a loss of power. */
export async function setNatsBack(stack: Stack, ms: number): Promise<void> {
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
    if (stack.info().pids.nats === pid) throw new Error("NATS is not back.");
  }, RESTARTED_MS);
}

/** Its parent is stopped and cannot take leave of it. */
function isZombie(pid: number): boolean {
  const { stdout } = Bun.spawnSync(["ps", "-o", "stat=", "-p", String(pid)]);
  return stdout.toString().trim().startsWith("Z");
}

/** The stream takes nothing more for a while. */
export async function fillStream(stack: Stack, ms: number): Promise<void> {
  const nats = await connect({ servers: stack.info().nats_url });
  const { streams } = await nats.jetstreamManager();
  const { config } = await streams.info(CLICKS_STREAM);
  await streams.update(CLICKS_STREAM, { max_bytes: 1 });
  await Bun.sleep(ms);
  await streams.update(CLICKS_STREAM, { max_bytes: config.max_bytes });
  await nats.close();
}

/** One worker's way to ClickHouse fails, or loses answers, for a while. */
export async function troubleClickHouse(
  clickhouse: LossyClickHouse,
  mode: "error" | "lost",
  ms: number,
): Promise<void> {
  clickhouse.set(mode);
  await Bun.sleep(ms);
  clickhouse.set("sound");
}
