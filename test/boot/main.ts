/**
 * `bun run test:scenarios boot`: installs the packages on a Debian machine with the commands
 * of docs/operations.md, and operates them: reboots, kills, upgrades, removals, a restore; with
 * `--machines 3` the commands of docs/three-machines.md; with `--setup` `shorthop setup`, and with
 * `--part` (`operate`, `kills`, `join`) only a part of that.
 * Needs root and `systemd-nspawn`; `debootstrap` and a mirror to build the machine's file system,
 * which is kept in `SHORTHOP_BOOT_CACHE`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { installRelease } from "./install.ts";
import { SCENARIO } from "./scenario.ts";
import { withMachine } from "./setup-machine.ts";
import { runSetup } from "./setup.ts";
import { runThreeMachines } from "./three-machines.ts";

const { values } = parseArgs({
  options: {
    machines: { type: "string", default: "1" },
    setup: { type: "boolean", default: false },
    part: { type: "string", multiple: true },
  },
});
const missing = [
  ...(process.getuid?.() === 0 ? [] : ["root"]),
  ...["systemd-nspawn", "debootstrap", "dpkg-deb", "nsenter"].filter(
    (name) => Bun.which(name) === null,
  ),
];
if (missing.length > 0) {
  console.warn(`\n!!! No ${missing.join(", ")} on this machine: the packages are NOT TESTED\n`);
  process.exit(0);
}

/** Runs a step and prints how long it took. */
async function step<T>(name: string, work: () => T | Promise<T>): Promise<T> {
  const start = performance.now();
  const result = await work();
  console.log(`ok  ${name} (${((performance.now() - start) / 1_000).toFixed(1)} s)`);
  return result;
}

const dir = mkdtempSync(join(tmpdir(), "shorthop-boot-"));
try {
  if (values.machines === "3") await runThreeMachines(dir, step);
  else if (values.setup) await runSetup(dir, step, values.part);
  else await runByHand(join(dir, "root"));
} finally {
  rmSync(dir, { recursive: true, force: true });
}
process.exit(0);

/** Installs and operates one machine with the commands of the documents. */
function runByHand(root: string): Promise<void> {
  return withMachine(root, step, async (machine) => {
    const context = await step("the documented commands install and start everything", () =>
      installRelease(machine, root),
    );
    for (const [name, work] of SCENARIO) await step(name, () => work(context));
  });
}
