/**
 * Fresh machines that boot, and steps on them: `shorthop setup`, and what its tests have in common.
 * They need root, `systemd-nspawn`, and `debootstrap` and a mirror to build the machines' file
 * system, which is kept in `SHORTHOP_BOOT_CACHE`.
 */
import { test } from "bun:test";
import { strict as assert } from "node:assert";
import { join } from "node:path";

import { run } from "../../deploy/packages/run.ts";
import { HOUR_MS } from "../../shared/durations.ts";
import { Load } from "./calls.ts";
import {
  CLICKHOUSE_SETTINGS,
  relayToGateway,
  startGateway,
  startSharedGateway,
} from "./clickhouse.ts";
import { copyRelease, readBlock } from "./install.ts";
import { bootMachine, type Machine, type Network } from "./machine.ts";
import { createRoot } from "./root.ts";

export const DOMAIN = "go.shorthop.dev";

/** Where the packages of the release are. */
export const FOLDER = "/root/release";

const SETTINGS = "/root/clickhouse.env";

/** What the machine of this test has: no terminal, and a ClickHouse that setup cannot install. */
export const OPTIONS = `--domain ${DOMAIN} --file ${SETTINGS} --yes`;

/** The script of a named block of docs/operations.md. */
export const documented = (name: string): string => readBlock(name, "operations.md");

const missing = [
  ...(process.getuid?.() === 0 ? [] : ["root"]),
  ...["systemd-nspawn", "debootstrap", "dpkg-deb", "nsenter"].filter(
    (name) => Bun.which(name) === null,
  ),
];
if (missing.length > 0)
  console.warn(`\n!!! No ${missing.join(", ")} on this machine: the packages are NOT TESTED\n`);

/** As long as all steps of a file may take. */
const BOOT_TIMEOUT_MS = HOUR_MS;

/** A test of packages on machines. */
export const bootTest = (name: string, run: () => Promise<void>): void =>
  test.skipIf(missing.length > 0)(name, run, BOOT_TIMEOUT_MS);

/** A step on machines. */
export type Step<T> = (name: string, work: (machines: T) => Promise<unknown>) => void;

/**
 * Runs steps on fresh machines, each of which needs those before it. When one fails, the machines'
 * logs are printed. Steps are no tests, which run in a random order.
 */
export async function runSteps<T extends readonly Machine[]>(
  boot: (resources: AsyncDisposableStack) => Promise<T>,
  listSteps: (step: Step<T>) => void,
): Promise<void> {
  await using resources = new AsyncDisposableStack();
  const machines = await boot(resources);
  const steps: [name: string, work: (machines: T) => Promise<unknown>][] = [];
  listSteps((name, work) => void steps.push([name, work]));
  for (const [name, work] of steps) {
    const startedAt = performance.now();
    try {
      await work(machines);
    } catch (cause) {
      for (const machine of machines) console.error(await readJournal(machine));
      throw new Error(`A step has failed: ${name}`, { cause });
    }
    console.log(`${name}: ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`);
  }
}

const LOG_LINES = 150;

const readJournal = (machine: Machine): Promise<string> =>
  machine.run(`journalctl --no-pager --lines=${LOG_LINES}`).catch(() => machine.console());

type Surroundings = {
  network?: Network;
  /** Starts ClickHouse's engine, or what leads to that of another machine. */
  clickhouse?: (machine: Machine) => Promise<void>;
};

/** Boots a fresh machine with ClickHouse's engine. */
export async function startMachine(
  resources: AsyncDisposableStack,
  root: string,
  { network, clickhouse = startGateway }: Surroundings = {},
): Promise<Machine> {
  await createRoot(root);
  const machine = resources.use(await bootMachine(root, network));
  await clickhouse(machine);
  return machine;
}

/** Boots one that also has the release and the names of the domain, for `shorthop setup`. */
export async function startWithRelease(
  resources: AsyncDisposableStack,
  root: string,
  surroundings: Surroundings = {},
): Promise<Machine> {
  const machine = await startMachine(resources, root, surroundings);
  copyRelease(root, FOLDER);
  await machine.run(`install --mode=0600 /dev/null ${SETTINGS}; cat > ${SETTINGS} <<'END'
${CLICKHOUSE_SETTINGS}END
echo "127.0.0.1 ${DOMAIN} api.${DOMAIN} app.${DOMAIN}" >> /etc/hosts`);
  return machine;
}

export type ThreeMachines = readonly [Machine, Machine, Machine];

/** Boots three machines on a network of their own; the first has ClickHouse's engine. */
export async function startThree(
  resources: AsyncDisposableStack,
  dir: string,
  [first, second, third]: readonly [string, string, string],
): Promise<ThreeMachines> {
  const bridge = `shb-${process.pid}`;
  run(["ip", "link", "add", bridge, "type", "bridge"], "/");
  resources.defer(() => void run(["ip", "link", "delete", bridge], "/"));
  run(["ip", "link", "set", bridge, "up"], "/");
  const start = (address: string, clickhouse: typeof relayToGateway): Promise<Machine> =>
    startWithRelease(resources, join(dir, address), { network: { bridge, address }, clickhouse });
  return [
    await start(first, startSharedGateway),
    await start(second, relayToGateway),
    await start(third, relayToGateway),
  ];
}

/** Follows a link while `work` runs; returns how many requests got which status. */
export async function countRedirects(
  machine: Machine,
  { alias }: { alias: string },
  work: () => Promise<unknown>,
): Promise<Record<string, number>> {
  const load = new Load(machine, { url: `http://127.0.0.1/${alias}`, host: DOMAIN });
  let counts: Record<string, number> = {};
  try {
    await work();
  } finally {
    counts = await load.end();
  }
  console.log(`    redirects: ${JSON.stringify(counts)}`);
  return counts;
}

/** The key that setup has printed. */
export function readKey(output: string): string {
  const key = /^ {4}Key {2,}(sk_\S+)$/m.exec(output)?.[1];
  assert.ok(key !== undefined, output);
  return key;
}

export async function expectNoDifference(machine: Machine): Promise<void> {
  assert.match(await machine.run("shorthop setup --dry-run"), /^Nothing would change\.$/m);
}
