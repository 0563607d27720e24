import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { endOrphan, ProcessRegistry, readOrphans } from "./process-registry.ts";
import { isAlive, readStartTime } from "./watchdog.ts";

const inTempDir = (work: (dir: string) => Promise<void>) => async () => {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-processes-"));
  await work(dir).finally(() => rmSync(dir, { recursive: true }));
};

test(
  "orphans are found and ended",
  inTempDir(async (dir) => {
    const path = join(dir, "processes.json");
    const child = Bun.spawn(["sleep", "60"]);
    new ProcessRegistry(path).add("nats", child.pid);
    const { supervisor, children } = readOrphans(path);
    expect(supervisor).toBe(process.pid);
    expect(children.map(({ name, pid }) => ({ name, pid }))).toEqual([
      { name: "nats", pid: child.pid },
    ]);
    for (const orphan of children) await endOrphan(orphan, 5_000);
    await child.exited;
    expect(readOrphans(path).children).toEqual([]);
  }),
);

test(
  "an unrelated process that has the pid of an earlier one is left alone",
  inTempDir(async (dir) => {
    const path = join(dir, "processes.json");
    const child = Bun.spawn(["sleep", "60"]);
    writeFileSync(path, JSON.stringify([{ name: "nats", pid: child.pid, startedAt: "12345" }]));
    expect(readOrphans(path).children).toEqual([]);
    child.kill();
    await child.exited;
  }),
);

test("a process that has ended is not alive", async () => {
  const child = Bun.spawn(["sleep", "60"]);
  const entry = { name: "x", pid: child.pid, startedAt: readStartTime(child.pid) ?? "" };
  expect(isAlive(entry)).toBe(true);
  child.kill("SIGKILL");
  await child.exited;
  expect(isAlive(entry)).toBe(false);
});

test(
  "a damaged registry is treated as empty",
  inTempDir(async (dir) => {
    const path = join(dir, "processes.json");
    writeFileSync(path, "[{");
    expect(readOrphans(path)).toEqual({ supervisor: undefined, children: [] });
  }),
);
