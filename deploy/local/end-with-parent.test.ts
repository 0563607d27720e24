import { expect, test } from "bun:test";
import { join } from "node:path";

import { isRunning } from "../../test/harness/process-usage.ts";

const END_TIMEOUT_MS = 5_000;

/** A parent that starts two children, of which one ignores what it can, and prints their pids. */
const PARENT = `
  import { endWithParent } from ${JSON.stringify(join(import.meta.dir, "supervisor.ts"))};
  const start = (command, signal) =>
    Bun.spawn(endWithParent(command, signal), { stdout: "ignore", detached: true });
  const children = [
    start(["sh", "-c", "trap '' INT TERM QUIT; while :; do sleep 0.1; done"]),
    start(["sleep", "60"], "QUIT"),
  ];
  require("node:fs").writeSync(1, children.map(({ pid }) => pid).join(" "));
  if (process.env["HOW"] === "killed") process.kill(process.pid, "SIGKILL");
  await Bun.stdin.text();
  process.exit(0);
`;

async function startParent(how: "killed" | "ended") {
  const parent = Bun.spawn([process.execPath, "-e", PARENT], {
    env: { ...process.env, HOW: how },
    stdin: "pipe",
    stdout: "pipe",
  });
  const { value } = await parent.stdout.getReader().read();
  const pids = new TextDecoder().decode(value).trim().split(" ").map(Number);
  expect(pids).toHaveLength(2);
  return { parent, pids };
}

async function haveEnded(pids: readonly number[]): Promise<boolean> {
  const deadline = Date.now() + END_TIMEOUT_MS;
  while (pids.some(isRunning)) {
    if (Date.now() > deadline) return false;
    await Bun.sleep(50);
  }
  return true;
}

test("children end after their parent was killed, at once after it had started them", async () => {
  const { parent, pids } = await startParent("killed");
  await parent.exited;
  expect(await haveEnded(pids)).toBe(true);
});

test("children run while their parent does, and end after it has exited without ending them", async () => {
  const { parent, pids } = await startParent("ended");
  // None of them ends by itself.
  await Bun.sleep(200);
  expect(pids.map(isRunning)).not.toContain(false);
  await parent.stdin.end();
  expect(await parent.exited).toBe(0);
  expect(await haveEnded(pids)).toBe(true);
});
