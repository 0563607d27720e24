/** A fresh machine for `shorthop setup`, and what its tests have in common. */
import { strict as assert } from "node:assert";
import { cpSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";

import { run } from "../../deploy/packages/run.ts";
import { PROJECT_DIR } from "../harness/stack.ts";
import { Load } from "./calls.ts";
import { CLICKHOUSE_SETTINGS, startGateway } from "./clickhouse.ts";
import { readBlocks } from "./install.ts";
import { bootMachine, type Machine, type Network } from "./machine.ts";
import { createRoot } from "./root.ts";

export const DOMAIN = "go.shorthop.dev";

/** Where the packages of the release are. */
export const FOLDER = "/root/release";

const SETTINGS = "/root/clickhouse.env";

/** What the machine of this test has: no terminal, and a ClickHouse that setup cannot install. */
export const OPTIONS = `--domain ${DOMAIN} --file ${SETTINGS} --yes`;

/** The script of a named block of docs/operations.md. */
export function documented(name: string): string {
  const script = readBlocks(join(PROJECT_DIR, "docs/operations.md")).get(name);
  if (script === undefined) throw new Error(`docs/operations.md has no block ${name}.`);
  return script;
}

export type Step = <T>(name: string, work: () => T | Promise<T>) => Promise<T>;

type MachineOptions = {
  network?: Network;
  /** Starts ClickHouse's engine, or what leads to that of another machine. */
  clickhouse?: (machine: Machine) => Promise<void>;
};

/** Boots a fresh machine that has the release, the names of the domain, and ClickHouse's engine. */
export async function withMachine(
  root: string,
  step: Step,
  work: (machine: Machine) => Promise<void>,
  { network, clickhouse = startGateway }: MachineOptions = {},
): Promise<void> {
  await using machine = await step("a fresh machine boots", async () => {
    await createRoot(root);
    copyPackages(root, FOLDER);
    return await bootMachine(root, network);
  });
  try {
    await clickhouse(machine);
    await machine.run(`install --mode=0600 /dev/null ${SETTINGS}; cat > ${SETTINGS} <<'END'\n${CLICKHOUSE_SETTINGS}END
echo "127.0.0.1 ${DOMAIN} api.${DOMAIN} app.${DOMAIN}" >> /etc/hosts`);
    await work(machine);
  } catch (error) {
    console.error(
      await machine.run("journalctl --no-pager --lines=80").catch(() => machine.console()),
    );
    throw error;
  }
}

/** Makes a bridge on this machine, which connects booted ones; returns its name. */
export function createBridge(cleanup: AsyncDisposableStack): string {
  const bridge = `shb-${process.pid}`;
  run(["ip", "link", "add", bridge, "type", "bridge"], "/");
  cleanup.defer(() => void run(["ip", "link", "delete", bridge], "/"));
  run(["ip", "link", "set", bridge, "up"], "/");
  return bridge;
}

/** Copies the packages that were built last to a folder of a machine. */
export function copyPackages(root: string, folder: string): void {
  const dist = join(PROJECT_DIR, "dist");
  mkdirSync(join(root, folder));
  for (const name of readdirSync(dist).filter((file) => /\.deb$|^SHA256SUMS$/.test(file)))
    cpSync(join(dist, name), join(root, folder, name));
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
