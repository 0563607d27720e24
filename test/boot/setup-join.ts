/** Three machines by `shorthop setup`: the first invites the others, which join. */
import { strict as assert } from "node:assert";
import { join } from "node:path";

import { eventually } from "../harness/eventually.ts";
import { Calls } from "./calls.ts";
import type { Machine, Network } from "./machine.ts";
import {
  createBridge,
  documented,
  DOMAIN,
  expectNoDifference,
  FOLDER,
  OPTIONS,
  readKey,
  type Step,
  withMachine,
} from "./setup-machine.ts";
import { relayToGateway, startSharedGateway } from "./three-machines.ts";

const STORES_ADDRESS = "10.0.0.11";
const ADDRESSES = [STORES_ADDRESS, "10.0.0.12", "10.0.0.14"];

/** Acceptance: of three machines, and of a host of redirectors. */
const COMMANDS_MAX = 6;
const COMMANDS_OF_REDIRECTORS_MAX = 2;

const RECOVERY_MS = 30_000;

const INSTALL = "apt-get install --yes ./shorthop*.deb";
const INSTALL_REDIRECTOR = "apt-get install --yes ./shorthop_*.deb ./shorthop-redirector_*.deb";
const INVITE_ANOTHER = "shorthop setup --yes --invite redirector";
const JOIN = documented("join").trim();

/** Boots the machines on a network of their own, and sets them up. */
export async function joinMachines(dir: string, step: Step): Promise<void> {
  await using cleanup = new AsyncDisposableStack();
  const bridge = createBridge(cleanup);

  async function withMachines(
    [address, ...others]: readonly string[],
    machines: readonly Machine[],
  ): Promise<void> {
    if (address === undefined) return await useMachines(machines, step);
    const network: Network = { bridge, address };
    await withMachine(
      join(dir, address),
      step,
      (machine) => withMachines(others, [...machines, machine]),
      { network, clickhouse: machines.length === 0 ? startSharedGateway : relayToGateway },
    );
  }
  await withMachines(ADDRESSES, []);
}

async function useMachines(machines: readonly Machine[], step: Step): Promise<void> {
  const [stores, processes, redirector] = machines;
  if (stores === undefined || processes === undefined || redirector === undefined)
    throw new Error("There must be three machines.");
  const key = await step("three machines are set up by six commands", () =>
    setUpThree(stores, processes, redirector),
  );
  await step("each follows a link that another has made, and its clicks are counted", () =>
    followEverywhere(machines, key),
  );
  await step("an invitation is valid once, and gives only what the role needs", () =>
    expectLeast(stores, redirector),
  );
  await step("after a rotation links go on, and another invitation brings the rest", () =>
    rotate(stores, redirector, key),
  );
}

/** Runs the commands of an operator, and counts them; returns the key. */
async function setUpThree(
  stores: Machine,
  processes: Machine,
  redirector: Machine,
): Promise<string> {
  let commands = 0;
  const command = (machine: Machine, text: string, input = ""): Promise<string> => {
    commands++;
    return machine.run(`cd ${FOLDER}\n${input === "" ? "" : `echo ${input} | `}${text}`);
  };
  await command(stores, INSTALL);
  commands++;
  const { output, tokens } = await invite(stores, `${documented("invite").trim()} ${OPTIONS}`);
  const [forProcesses = "", forRedirector = ""] = tokens;
  await command(processes, INSTALL);
  await command(processes, JOIN, forProcesses);
  const before = commands;
  const start = performance.now();
  await command(redirector, INSTALL_REDIRECTOR);
  console.log(await command(redirector, JOIN, forRedirector));
  const seconds = ((performance.now() - start) / 1_000).toFixed(1);
  console.log(
    `    ${commands} commands for three machines; of them for redirectors ${commands - before}, ${seconds} s`,
  );
  assert.ok(commands <= COMMANDS_MAX);
  assert.ok(commands - before <= COMMANDS_OF_REDIRECTORS_MAX);
  return readKey(output);
}

async function followEverywhere(machines: readonly Machine[], key: string): Promise<void> {
  const callsOn = (machine: Machine) => new Calls({ machine, key, host: DOMAIN });
  const [stores, processes] = machines.map(callsOn);
  if (stores === undefined || processes === undefined) throw new Error("There are no machines.");
  await stores.waitUntilReady();
  await processes.waitUntilReady();
  for (const maker of [stores, processes]) {
    const link = await maker.createLink(maker === stores ? "from-first" : "from-second");
    for (const machine of machines)
      await eventually(() => callsOn(machine).follow(link), RECOVERY_MS);
    await stores.expectClicks(link, machines.length);
  }
  for (const machine of machines) await expectNoDifference(machine);
}

async function expectLeast(stores: Machine, redirector: Machine): Promise<void> {
  const names = await redirector.run("grep --only-matching '^[A-Z_]*' /etc/shorthop/secrets.env");
  assert.deepEqual(names.trim().split("\n"), [
    "NATS_REDIRECTOR",
    "UNLOCK_SECRET",
    "LINKS_PUBLIC_KEYS",
  ]);
  const [token = ""] = (await invite(stores, INVITE_ANOTHER)).tokens;
  await redirector.run(`echo ${token} | ${JOIN}`);
  await redirector.run(`! echo ${token} | ${JOIN} 2> /root/again
grep 'no open invitation' /root/again`);
}

async function rotate(stores: Machine, redirector: Machine, key: string): Promise<void> {
  const callsOn = (machine: Machine) => new Calls({ machine, key, host: DOMAIN });
  const link = await callsOn(stores).createLink("before-rotation");
  await eventually(() => callsOn(redirector).follow(link), RECOVERY_MS);
  await stores.run("shorthop setup --yes --rotate NATS_REDIRECTOR");
  await callsOn(redirector).follow(link);
  const [token = ""] = (await invite(stores, INVITE_ANOTHER)).tokens;
  await redirector.run(`echo ${token} | ${JOIN}`);
  const later = await callsOn(stores).createLink("after-rotation");
  await eventually(() => callsOn(redirector).follow(later), RECOVERY_MS);
  await callsOn(stores).expectClicks(link, 2);
}

type Invited = { output: string; tokens: string[] };

/** Runs a command that invites, which goes on after this returns; returns its tokens. */
async function invite(stores: Machine, command: string): Promise<Invited> {
  const [, roles = ""] = command.split("--invite ");
  const count = roles.split(" ").filter((word) => /^(processes|redirector)$/.test(word)).length;
  const child = stores.spawn(command);
  let output = "";
  for await (const part of child.stdout) {
    output += new TextDecoder().decode(part);
    const tokens = [...output.matchAll(/^ {4}([\w-]{64}) {2}\w+$/gm)].map(
      ([, token = ""]) => token,
    );
    if (tokens.length === count) return { output, tokens };
  }
  throw new Error(`No tokens: ${output} ${await new Response(child.stderr).text()}`);
}
