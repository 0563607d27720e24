import { expect, test } from "bun:test";
import { join } from "node:path";

import { endLeftovers, readStartTime, Watchdog } from "./watchdog.ts";

const END_TIMEOUT_MS = 5_000;

/** A parent that starts two children, one of which ignores SIGQUIT, and prints their pids. */
const PARENT = `
  import { Watchdog } from ${JSON.stringify(join(import.meta.dir, "watchdog.ts"))};
  const watchdog = new Watchdog();
  if (process.env["HOW"] === "killed at once") {
    const child = Bun.spawn(["sleep", "60"], { stdout: "ignore", env: { ...process.env, ...watchdog.mark } });
    require("node:fs").writeSync(1, String(child.pid));
    process.kill(process.pid, "SIGKILL");
  }
  const children = [
    ["nats", Bun.spawn(["sleep", "60"], { stdout: "ignore" })],
    ["postgres", Bun.spawn(["sh", "-c", "trap '' QUIT; while :; do sleep 0.1; done"], { stdout: "ignore" })],
  ];
  for (const [name, child] of children) watchdog.watch(name, child.pid);
  require("node:fs").writeSync(1, children.map(([, child]) => child.pid).join(" "));
  if (process.env["HOW"] === "killed") process.kill(process.pid, "SIGKILL");
  await Bun.stdin.text();
  process.exit(0);
`;

async function startParent(how: "killed" | "killed at once" | "ended") {
  const parent = Bun.spawn([process.execPath, "-e", PARENT], {
    env: { ...process.env, HOW: how },
    stdin: "pipe",
    stdout: "pipe",
  });
  const { value } = await parent.stdout.getReader().read();
  const pids = new TextDecoder().decode(value).trim().split(" ").map(Number);
  return { parent, pids };
}

async function haveEnded(pids: readonly number[]): Promise<boolean> {
  const deadline = Date.now() + END_TIMEOUT_MS;
  while (pids.some((pid) => readStartTime(pid) !== undefined)) {
    if (Date.now() > deadline) return false;
    await Bun.sleep(50);
  }
  return true;
}

test("children are ended after their parent was killed, even if one ignores signals", async () => {
  // The parent is killed right after it has printed the pids.
  const { parent, pids } = await startParent("killed");
  expect(pids).toHaveLength(2);
  await parent.exited;
  expect(await haveEnded(pids)).toBe(true);
});

test("children are ended after their parent has exited without ending them", async () => {
  const { parent, pids } = await startParent("ended");
  expect(pids.map(readStartTime)).not.toContain(undefined);
  await parent.stdin.end();
  expect(await parent.exited).toBe(0);
  expect(await haveEnded(pids)).toBe(true);
});

test("a child is ended whose parent was killed before it could name it", async () => {
  const { parent, pids } = await startParent("killed at once");
  expect(pids).toHaveLength(1);
  await parent.exited;
  expect(await haveEnded(pids)).toBe(true);
});

test("what a process and its watchdog left running is ended at the next start, and nothing else", async () => {
  const home = `/home/of/test/${process.pid}`;
  const mark = new Watchdog(home).mark;
  const left = Bun.spawn(["sleep", "60"], { env: { ...process.env, ...mark } });
  const other = Bun.spawn(["sleep", "60"], { env: { ...process.env, ...new Watchdog().mark } });
  expect(await endLeftovers(home)).toEqual(["sleep"]);
  await left.exited;
  expect(readStartTime(left.pid)).toBeUndefined();
  expect(readStartTime(other.pid)).toBeDefined();
  expect(await endLeftovers(home)).toEqual([]);
  other.kill();
});
