import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { endLeftover, isAlive, openProcessFile, readLeftovers, startOf } from "./processes.ts";

const inTempDir = (work: (dir: string) => Promise<void>) => async () => {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-processes-"));
  await work(dir).finally(() => rmSync(dir, { recursive: true }));
};

test(
  "what was left running is found and ended",
  inTempDir(async (dir) => {
    const path = join(dir, "processes.json");
    const child = Bun.spawn(["sleep", "60"]);
    openProcessFile(path).add("nats", child.pid);
    const { supervisor, children } = readLeftovers(path);
    expect(supervisor).toBe(process.pid);
    expect(children.map(({ name, pid }) => ({ name, pid }))).toEqual([
      { name: "nats", pid: child.pid },
    ]);
    for (const leftover of children) await endLeftover(leftover, 5_000);
    await child.exited;
    expect(readLeftovers(path).children).toEqual([]);
  }),
);

test(
  "another process that has got the number of one of ours is left alone",
  inTempDir(async (dir) => {
    const path = join(dir, "processes.json");
    const child = Bun.spawn(["sleep", "60"]);
    writeFileSync(path, JSON.stringify([{ name: "nats", pid: child.pid, startedAt: "12345" }]));
    expect(readLeftovers(path).children).toEqual([]);
    child.kill();
    await child.exited;
  }),
);

test("a process that has ended is not alive", async () => {
  const child = Bun.spawn(["sleep", "60"]);
  const entry = { name: "x", pid: child.pid, startedAt: startOf(child.pid) ?? "" };
  expect(isAlive(entry)).toBe(true);
  child.kill("SIGKILL");
  await child.exited;
  expect(isAlive(entry)).toBe(false);
});

test(
  "a damaged file is taken for an empty one",
  inTempDir(async (dir) => {
    const path = join(dir, "processes.json");
    writeFileSync(path, "[{");
    expect(readLeftovers(path)).toEqual({ supervisor: undefined, children: [] });
  }),
);
