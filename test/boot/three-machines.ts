/**
 * Three machines on a network of their own, installed with the commands of docs/three-machines.md.
 */
import { cpSync } from "node:fs";
import { join } from "node:path";

import * as z from "zod";

import { run } from "../../deploy/packages/run.ts";
import { LINKS_BEFORE, LINKS_CHANGED, LINKS_MORE } from "../harness/bulk-links.ts";
import { eventually } from "../harness/eventually.ts";
import { PROJECT_DIR } from "../harness/stack.ts";
import { startBulkLinks } from "./bulk-links.ts";
import { Calls } from "./calls.ts";
import { CLICKHOUSE_SECRETS, startGateway } from "./clickhouse.ts";
import { readBlocks } from "./install.ts";
import { bootMachine, type Machine } from "./machine.ts";
import { createRoot } from "./root.ts";
import { copyPackages, createBridge, FOLDER, type Step } from "./setup-machine.ts";

/** As in the document. */
const ADDRESSES = ["10.0.0.11", "10.0.0.12", "10.0.0.13"];

const RECOVERY_MS = 60_000;

/** Of each machine, when a step fails. */
const LOG_LINES = 150;

/** Two on each machine, which share its port. */
const redirectorsOf = (addresses: readonly string[]): string[] =>
  addresses.flatMap((address) => [`http://${address}`, `http://${address}`]);

const account = z.object({ key: z.string() });

/**
 * Installs three machines, uses them, and goes on without the first. Throws when something is not
 * as documented, after printing each machine's log.
 */
export async function runThreeMachines(dir: string, step: Step): Promise<void> {
  await using cleanup = new AsyncDisposableStack();
  const bridge = createBridge(cleanup);

  run([process.execPath, "deploy/build.ts", "--revision", "1"], PROJECT_DIR);
  const machines = await step("three machines boot", () =>
    Promise.all(
      ADDRESSES.map(async (address) => {
        const root = join(dir, address);
        await createRoot(root);
        copyPackages(root, FOLDER);
        return cleanup.use(await bootMachine(root, { bridge, address }));
      }),
    ),
  );
  try {
    await useMachines(dir, machines, step);
  } catch (error) {
    for (const machine of machines) {
      const log = await machine
        .run(`journalctl --no-pager --lines=${LOG_LINES}`)
        .catch(() => machine.console());
      console.error(log);
    }
    throw error;
  }
}

async function useMachines(dir: string, machines: readonly Machine[], step: Step): Promise<void> {
  const blocks = readBlocks(join(PROJECT_DIR, "docs/three-machines.md"));
  const [first, second, third] = machines;
  if (first === undefined || second === undefined || third === undefined)
    throw new Error("There must be three machines.");

  const runBlock = (machine: Machine, name: string): Promise<string> => {
    const script = blocks.get(name);
    if (script === undefined) throw new Error(`docs/three-machines.md has no block ${name}.`);
    return machine.run(`cd ${FOLDER}\n${script}`);
  };
  const onEach = async (name: string): Promise<void> => {
    await Promise.all(machines.map((machine) => runBlock(machine, name)));
  };

  await step("ClickHouse's engine runs on the first, and answers on all", async () => {
    await startSharedGateway(first);
    await Promise.all([second, third].map((machine) => relayToGateway(machine)));
  });
  const key = await step("the documented commands install everything", async () => {
    await onEach("packages");
    await runBlock(first, "secrets");
    await first.run(`cat >> /root/shorthop/secrets <<'END'\n${CLICKHOUSE_SECRETS}END`);
    for (const address of ADDRESSES.slice(1))
      cpSync(join(dir, ADDRESSES[0] ?? "", "root/shorthop"), join(dir, address, "root/shorthop"), {
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

/** The engine listens to the other machines as well; it is on the first of {@link ADDRESSES}. */
export async function startSharedGateway(machine: Machine): Promise<void> {
  await machine.run(`mkdir -p /etc/systemd/system/clickhouse-engine.service.d
cat > /etc/systemd/system/clickhouse-engine.service.d/host.conf <<'END'
[Service]
Environment=CLICKHOUSE_GATEWAY_HOST=0.0.0.0
END`);
  await startGateway(machine);
}

/**
 * The engine answers only for its own machine, so another one has a relay of systemd's on its
 * loopback address.
 */
export async function relayToGateway(machine: Machine): Promise<void> {
  await machine.run(`cat > /etc/systemd/system/clickhouse-engine.socket <<'END'
[Socket]
ListenStream=127.0.0.1:8123
[Install]
WantedBy=sockets.target
END
cat > /etc/systemd/system/clickhouse-engine.service <<'END'
[Service]
ExecStart=/usr/lib/systemd/systemd-socket-proxyd ${ADDRESSES[0]}:8123
END
systemctl enable --quiet --now clickhouse-engine.socket`);
  await eventually(() => machine.run("curl --fail --silent localhost:8123/ping"), RECOVERY_MS);
}
