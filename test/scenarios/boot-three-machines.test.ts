/**
 * Goal: the commands of docs/three-machines.md make three machines on a network one installation,
 * which goes on without the first.
 */
import { cpSync } from "node:fs";
import { join } from "node:path";

import * as z from "zod";

import { type MachineLinks, startBulkLinks } from "../boot/bulk-links.ts";
import { Calls, type Link } from "../boot/calls.ts";
import { CLICKHOUSE_SECRETS, FIRST_ADDRESS } from "../boot/clickhouse.ts";
import { buildRelease, readBlock } from "../boot/install.ts";
import type { Machine } from "../boot/machine.ts";
import { bootTest, FOLDER, runSteps, startThree, type ThreeMachines } from "../boot/machines.ts";
import { LINKS_BEFORE, LINKS_CHANGED, LINKS_MORE } from "../harness/bulk-links.ts";
import { eventually } from "../harness/eventually.ts";
import { dirForFile } from "../harness/for-file.ts";

/** As in the document. */
const ADDRESSES = [FIRST_ADDRESS, "10.0.0.12", "10.0.0.13"] as const;

const RECOVERY_MS = 60_000;

/** Two on each machine, which share its port. */
const redirectorsOf = (addresses: readonly string[]): string[] =>
  addresses.flatMap((address) => [`http://${address}`, `http://${address}`]);

const account = z.object({ key: z.string() });

const dir = dirForFile("shorthop-boot-");

const secretsOf = (address: string): string => join(dir, address, "root/shorthop");

const runBlock = (machine: Machine, name: string): Promise<string> =>
  machine.run(`cd ${FOLDER}\n${readBlock(name, "three-machines.md")}`);

/** Installs all three; returns the key of an account. */
async function install([first, second, third]: ThreeMachines): Promise<string> {
  const onEach = async (name: string): Promise<void> => {
    await Promise.all([first, second, third].map((machine) => runBlock(machine, name)));
  };
  await onEach("packages");
  await runBlock(first, "secrets");
  await first.run(`cat >> /root/shorthop/secrets <<'END'\n${CLICKHOUSE_SECRETS}END`);
  for (const address of ADDRESSES.slice(1))
    cpSync(secretsOf(FIRST_ADDRESS), secretsOf(address), { recursive: true });
  await onEach("nats");
  await runBlock(first, "postgresql-primary");
  await runBlock(second, "postgresql-standby");
  await runBlock(first, "postgresql-synchronous");
  await onEach("configuration");
  await runBlock(first, "schemas");
  await onEach("start");
  return account.parse(JSON.parse(await runBlock(first, "account"))).key;
}

bootTest("the commands of the document make three machines one installation", () => {
  buildRelease(1);
  return runSteps(
    (resources) => startThree(resources, dir, ADDRESSES),
    (step) => {
      let key = "";
      let link: Link;
      let bulk: MachineLinks;
      const callsOn = (machine: Machine) => new Calls({ machine, key });

      step("the documented commands install everything", async (machines) => {
        key = await install(machines);
      });

      step("every machine is ready, and each answers for a link", async (machines) => {
        const [, second, third] = machines;
        for (const machine of machines) await callsOn(machine).waitUntilReady();
        link = await callsOn(third).createLink("everywhere");
        for (const machine of machines) await callsOn(machine).follow(link);
        await callsOn(second).expectClicks(link, machines.length);
      });

      step("thousands of links are made, and followed on all", async ([, second, third]) => {
        bulk = await startBulkLinks(third, redirectorsOf(ADDRESSES), "/root/shorthop/secrets");
        await bulk.prepare(LINKS_BEFORE);
        for (const service of ["shorthop-redirector@1", "shorthop-redirector@2"]) {
          await second.run(`systemctl stop ${service}`);
          await bulk.change(LINKS_CHANGED);
          await second.run(`systemctl start ${service}`);
          await callsOn(second).waitUntilReady();
          await bulk.expectCurrent(`a stop of ${service} on the second`);
        }
      });

      step(
        "without the first, links are followed, and after the promotion made",
        async (machines) => {
          const [first, second, third] = machines;
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
        },
      );
    },
  );
});
