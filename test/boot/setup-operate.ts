/**
 * A machine that `shorthop setup` has made, as its operator goes on: checks on a timer, backups and
 * their drill, an upgrade, and the same installation on another machine.
 */
import { strict as assert } from "node:assert";
import { cpSync } from "node:fs";
import { join } from "node:path";

import { run } from "../../deploy/packages/run.ts";
import { eventually } from "../harness/eventually.ts";
import { PROJECT_DIR } from "../harness/stack.ts";
import { Calls } from "./calls.ts";
import type { Machine } from "./machine.ts";
import {
  copyPackages,
  countRedirects,
  documented,
  DOMAIN,
  expectNoDifference,
  FOLDER,
  type Step,
  withMachine,
} from "./setup-machine.ts";

const NEXT_FOLDER = "/root/next";
const BACKUPS = "/var/backups/shorthop";
const METRICS = "/var/lib/prometheus/node-exporter/shorthop.prom";

/** Acceptance: to install, and to set up. */
const COMMANDS_MAX = 2;

const RECOVERY_MS = 30_000;

/** `root` is the machine's file system, `key` the account's. */
export async function operate(
  root: string,
  { machine, key }: { machine: Machine; key: string },
  step: Step,
): Promise<void> {
  await step("doctor runs on its timer, and writes metrics", () => checkOnTimer(machine));
  await step("a backup passes its drill", async () => {
    const drill = await machine.run(documented("backup"));
    assert.match(drill, /^links\t([1-9]\d*) of \1$/m, drill);
    assert.match(drill, /^clicks\t([1-9]\d*) of \1$/m, drill);
  });
  await step("upgrade to the next build fails no redirect", () => upgrade(root, machine, key));
  await step("the last backup is made", async () => {
    await machine.run("systemctl start shorthop-backup");
  });
}

async function checkOnTimer(machine: Machine): Promise<void> {
  await machine.run(`mkdir -p ${METRICS.replace(/\/[^/]*$/, "")}
systemctl enable --quiet --now shorthop-doctor.timer
systemctl start shorthop-doctor`);
  const metrics = await machine.run(`cat ${METRICS}`);
  assert.match(metrics, /^shorthop_doctor_\w+(?:\{[^}]*\})? \d/m, metrics);
  assert.doesNotMatch(
    metrics,
    /^shorthop_doctor_checks\{[^}]*status="failed"[^}]*\} [1-9]/m,
    metrics,
  );
  await machine.run("systemctl is-active --quiet shorthop-doctor.timer");
}

async function upgrade(root: string, machine: Machine, key: string): Promise<void> {
  run([process.execPath, "deploy/build.ts", "--revision", "2"], PROJECT_DIR);
  copyPackages(root, NEXT_FOLDER);
  const calls = new Calls({ machine, key, host: DOMAIN });
  const link = await calls.createLink("upgraded");
  await eventually(() => calls.follow(link), RECOVERY_MS);
  const counts = await countRedirects(machine, link, () =>
    machine.run(`cd ${NEXT_FOLDER}\n${documented("upgrade")}`).then((output) => {
      console.log(output.replaceAll(/^(?=.)/gm, "    "));
    }),
  );
  assert.deepEqual(Object.keys(counts), ["302"]);
  await calls.waitUntilReady();
  assert.match(await machine.run("dpkg-query --show shorthop"), /-2\n$/);
  await expectNoDifference(machine);
  await calls.expectClicks(link, 1 + (counts["302"] ?? 0));
}

/** Brings the installation of one machine, which has ended, to a fresh one by its backup. */
export async function restoreElsewhere(
  dir: string,
  { before, key }: { before: string; key: string },
  step: Step,
): Promise<void> {
  const root = join(dir, "restored");
  await withMachine(root, step, async (machine) => {
    cpSync(join(before, BACKUPS), join(root, BACKUPS), { recursive: true });
    await step("another machine is restored by two commands, with the same counts", async () => {
      const script = ["install", "setup-restore"].map((name) => documented(name)).join("");
      const commands = script.trim().split("\n");
      assert.ok(commands.length <= COMMANDS_MAX, script);
      const output = await machine.run(
        `cd ${FOLDER}\n${script.replace(/^shorthop setup/m, "shorthop setup --yes")}`,
      );
      console.log(output.replaceAll(/^(?=.)/gm, "    "));
      assert.match(output, /^ {4}links\t([1-9]\d*) of \1$/m);
      assert.match(output, /^ {4}clicks\t([1-9]\d*) of \1$/m);
    });
    await step("its links, keys and clicks are those of the first", async () => {
      const calls = new Calls({ machine, key, host: DOMAIN });
      await calls.waitUntilReady();
      await eventually(
        () =>
          calls.get("http://127.0.0.1/upgraded").then(({ status }) => {
            assert.equal(status, 302);
          }),
        RECOVERY_MS,
      );
      await calls.follow(await calls.createLink("after-restore"));
      await expectNoDifference(machine);
    });
  });
}
