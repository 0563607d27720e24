/**
 * Three machines on a network of their own, installed with the commands of docs/three-machines.md.
 */
import { cpSync } from "node:fs";
import { join } from "node:path";

import * as z from "zod";

import { LINKS_BEFORE, LINKS_CHANGED, LINKS_MORE } from "../harness/bulk-links.ts";
import { eventually } from "../harness/eventually.ts";
import { startBulkLinks } from "./bulk-links.ts";
import { Calls } from "./calls.ts";
import { CLICKHOUSE_SECRETS, FIRST_ADDRESS } from "./clickhouse.ts";
import { buildRelease, readBlock } from "./install.ts";
import type { Machine } from "./machine.ts";
import { FOLDER, type Step, withThree } from "./setup-machine.ts";

/** As in the document. */
const ADDRESSES = [FIRST_ADDRESS, "10.0.0.12", "10.0.0.13"] as const;

const RECOVERY_MS = 60_000;

/** Two on each machine, which share its port. */
const redirectorsOf = (addresses: readonly string[]): string[] =>
  addresses.flatMap((address) => [`http://${address}`, `http://${address}`]);

const account = z.object({ key: z.string() });

/** Installs three machines, uses them, and goes on without the first. */
export function runThreeMachines(dir: string, step: Step): Promise<void> {
  buildRelease(1);
  return withThree(dir, ADDRESSES, step, (machines) => useMachines(dir, machines, step));
}

const runBlock = (machine: Machine, name: string): Promise<string> =>
  machine.run(`cd ${FOLDER}\n${readBlock(name, "three-machines.md")}`);

async function useMachines(
  dir: string,
  machines: readonly [Machine, Machine, Machine],
  step: Step,
): Promise<void> {
  const [first, second, third] = machines;
  const onEach = async (name: string): Promise<void> => {
    await Promise.all(machines.map((machine) => runBlock(machine, name)));
  };

  const key = await step("the documented commands install everything", async () => {
    await onEach("packages");
    await runBlock(first, "secrets");
    await first.run(`cat >> /root/shorthop/secrets <<'END'\n${CLICKHOUSE_SECRETS}END`);
    for (const address of ADDRESSES.slice(1))
      cpSync(join(dir, FIRST_ADDRESS, "root/shorthop"), join(dir, address, "root/shorthop"), {
        recursive: true,
      });
    await onEach("nats");
    await runBlock(first, "postgresql-primary");
    await runBlock(second, "postgresql-standby");
    await runBlock(first, "postgresql-synchronous");
    await onEach("configuration");
    await runBlock(first, "schemas");
    await onEach("start");
    return account.parse(JSON.parse(await runBlock(first, "account"))).key;
  });

  const callsOn = (machine: Machine) => new Calls({ machine, key });
  const link = await step("every machine is ready, and each answers for a link", async () => {
    for (const machine of machines) await callsOn(machine).waitUntilReady();
    const created = await callsOn(third).createLink("everywhere");
    for (const machine of machines) await callsOn(machine).follow(created);
    await callsOn(second).expectClicks(created, machines.length);
    return created;
  });

  const bulk = await step("thousands of links are made, and followed on all", async () => {
    const made = await startBulkLinks(third, redirectorsOf(ADDRESSES), "/root/shorthop/secrets");
    await made.prepare(LINKS_BEFORE);
    for (const service of ["shorthop-redirector@1", "shorthop-redirector@2"]) {
      await second.run(`systemctl stop ${service}`);
      await made.change(LINKS_CHANGED);
      await second.run(`systemctl start ${service}`);
      await callsOn(second).waitUntilReady();
      await made.expectCurrent(`a stop of ${service} on the second`);
    }
    return made;
  });

  await step("without the first, links are followed, and after the promotion made", async () => {
    await first[Symbol.asyncDispose]();
    for (const machine of [second, third])
      await eventually(() => callsOn(machine).follow(link), RECOVERY_MS);
    await runBlock(second, "promote");
    const made = await eventually(() => callsOn(third).createLink("afterwards"), RECOVERY_MS);
    for (const machine of [second, third])
      await eventually(() => callsOn(machine).follow(made), RECOVERY_MS);
    await bulk.use(redirectorsOf(ADDRESSES.slice(1)));
    await bulk.create(LINKS_MORE);
    await bulk.change(LINKS_CHANGED);
    await bulk.expectCurrent("the loss of the first");
    await bulk.expectConsumers();
  });
}
