/** Goal: what a store's processes and threads take of a CPU counts, whichever of them it is. */
import { expect, setDefaultTimeout, test } from "bun:test";

import { readTreeMs } from "./store-cpu.ts";

// The machine may be busy.
setDefaultTimeout(60_000);

/** Counts, says so, and waits until its input ends. */
const COUNT = 'i=0; while [ "$i" -lt 200000 ]; do i=$((i+1)); done; echo counted; read -r _';

test("the time of a child is in that of its parent, and that of a process that has ended is nothing", async () => {
  await using parent = Bun.spawn(["sh", "-c", `sh -c '${COUNT}'; true`], {
    stdin: "pipe",
    stdout: "pipe",
  });
  await parent.stdout.getReader().read();
  // The parent itself has only started it.
  expect(readTreeMs(parent.pid)).toBeGreaterThan(20);
  void parent.stdin.end();
  await parent.exited;
  expect(readTreeMs(parent.pid)).toBe(0);
});
