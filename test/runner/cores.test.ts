import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { countCores } from "./cores.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "shorthop-cores-"));
});
afterEach(() => rmSync(root, { recursive: true }));

async function write(files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    await Bun.write(join(root, path), `${text}\n`);
  }
}

test("without a quota, the cores are those of the machine", async () => {
  expect(countCores(root)).toBe(availableParallelism());
  await write({
    "proc/self/cgroup": "4:cpu,cpuacct:/\n0::/",
    "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
    "sys/fs/cgroup/cpu.max": "max 100000",
  });
  expect(countCores(root)).toBe(availableParallelism());
});

test.each([
  [
    "of version 1",
    "4:cpu,cpuacct:/tests\n3:memory:/",
    { "cpu/tests/cpu.cfs_quota_us": "70000", "cpu/tests/cpu.cfs_period_us": "100000" },
  ],
  ["of version 2", "0::/tests", { "tests/cpu.max": "35000 50000" }],
])("a quota %s is a part of a core", async (_name, groups, files) => {
  await write({ "proc/self/cgroup": groups });
  for (const [path, text] of Object.entries(files))
    await write({ [`sys/fs/cgroup/${path}`]: text });
  expect(countCores(root)).toBe(0.7);
});
