/** A fresh machine for `shorthop setup`, and what its tests have in common. */
import { strict as assert } from "node:assert";
import { join } from "node:path";

import { run } from "../../deploy/packages/run.ts";
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

export type Step = <T>(name: string, work: () => T | Promise<T>) => Promise<T>;

type Work = (machine: Machine) => Promise<void>;

type Surroundings = {
  network?: Network;
  /** Starts ClickHouse's engine, or what leads to that of another machine. */
  clickhouse?: Work;
};

/** Boots a fresh machine with ClickHouse's engine; prints its log when `work` fails. */
export async function withMachine(
  root: string,
  step: Step,
  work: Work,
  { network, clickhouse = startGateway }: Surroundings = {},
): Promise<void> {
  await using machine = await step("a fresh machine boots", async () => {
    await createRoot(root);
    return await bootMachine(root, network);
  });
  try {
    await clickhouse(machine);
    await work(machine);
  } catch (error) {
    const log = machine.run(`journalctl --no-pager --lines=${LOG_LINES}`);
    console.error(await log.catch(() => machine.console()));
    throw error;
  }
}

const LOG_LINES = 150;

/** One that also has the release and the names of the domain, for `shorthop setup`. */
export const withRelease: typeof withMachine = (root, step, work, surroundings) =>
  withMachine(
    root,
    step,
    async (machine) => {
      copyRelease(root, FOLDER);
      await machine.run(`install --mode=0600 /dev/null ${SETTINGS}; cat > ${SETTINGS} <<'END'
${CLICKHOUSE_SETTINGS}END
echo "127.0.0.1 ${DOMAIN} api.${DOMAIN} app.${DOMAIN}" >> /etc/hosts`);
      await work(machine);
    },
    surroundings,
  );

/** Boots three machines on a network of their own; the first has ClickHouse's engine. */
export async function withThree(
  dir: string,
  addresses: readonly [string, string, string],
  step: Step,
  work: (machines: readonly [Machine, Machine, Machine]) => Promise<void>,
): Promise<void> {
  const bridge = `shb-${process.pid}`;
  run(["ip", "link", "add", bridge, "type", "bridge"], "/");
  const boot = (i: number, next: Work): Promise<void> => {
    const address = addresses[i] ?? "";
    return withRelease(join(dir, address), step, next, {
      network: { bridge, address },
      clickhouse: i === 0 ? startSharedGateway : relayToGateway,
    });
  };
  try {
    run(["ip", "link", "set", bridge, "up"], "/");
    await boot(0, (a) => boot(1, (b) => boot(2, (c) => work([a, b, c]))));
  } finally {
    run(["ip", "link", "delete", bridge], "/");
  }
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
