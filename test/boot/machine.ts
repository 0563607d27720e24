/** A machine that boots: systemd as process 1 in `systemd-nspawn`, with a network of its own. */
import { readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";

import { eventually, SLOWDOWN_MAX } from "../harness/eventually.ts";
import { PROJECT_DIR } from "../harness/stack.ts";

const BOOT_MS = 60_000;
const SHUTDOWN_MS = 30_000;

/** Where the machine sees the project, for what is no part of an installation. */
export const PROJECT_MOUNT = "/mnt/project";

export type Machine = {
  /** Runs a script as root, without waiting; its process ends with the script. */
  spawn(script: string): Bun.Subprocess<"ignore", "pipe", "pipe">;
  /** Runs a script as root and returns what it printed; throws when it fails. */
  run(script: string): Promise<string>;
  /** Runs a program of this machine in the network of the booted one. */
  spawnInNetwork(command: string[]): Bun.Subprocess<"pipe", "pipe", "inherit">;
  reboot(): Promise<void>;
  /** What systemd printed while it booted. */
  console(): string;
  [Symbol.asyncDispose](): Promise<void>;
};

const NAMESPACES = ["--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd"];

/** A login's of root, and no questions from apt. */
const ENVIRONMENT = {
  PATH: "/usr/sbin:/usr/bin:/sbin:/bin",
  HOME: "/root",
  LC_ALL: "C.UTF-8",
  DEBIAN_FRONTEND: "noninteractive",
};

/**
 * A control group for a machine beside others: each one's systemd takes the group it is in for its
 * own. The first argument is the group's name; the hierarchies are those of cgroups(7), version 2
 * or both.
 */
const IN_OWN_GROUP = [
  "/bin/sh",
  "-ec",
  `for root in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
    if [ -e "$root/cgroup.procs" ]; then mkdir -p "$root/$0"; echo $$ > "$root/$0/cgroup.procs"; fi
  done
  exec "$@"`,
];

/** A network of several machines: `bridge` is on this one, and `address` is the machine's. */
export type Network = { bridge: string; address: string };

const nspawnCommand = (dir: string, network: Network | undefined): string[] => [
  ...(network === undefined ? [] : [...IN_OWN_GROUP, `shorthop-${network.address}-${process.pid}`]),
  "systemd-nspawn",
  "--quiet",
  "--register=no",
  "--keep-unit",
  network === undefined ? "--private-network" : `--network-bridge=${network.bridge}`,
  `--directory=${dir}`,
  // The name of its interface on this side is made of its first letters.
  `--machine=${network?.address.split(".").at(-1) ?? "shorthop-boot"}-${process.pid}`,
  `--bind-ro=${PROJECT_DIR}:${PROJECT_MOUNT}`,
  // Where a link of a copy of the project leads.
  `--bind-ro=${realpathSync(join(PROJECT_DIR, "node_modules"))}`,
  "--boot",
];

/** Boots the file system in `dir`, and waits until systemd has started everything. */
export async function bootMachine(dir: string, network?: Network): Promise<Machine> {
  let output = "";
  let nspawn = start();

  function start() {
    const child = Bun.spawn(nspawnCommand(dir, network), {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    for (const stream of [child.stdout, child.stderr])
      void (async () => {
        for await (const part of stream) output += new TextDecoder().decode(part);
      })();
    return child;
  }

  /** The machine's process 1. */
  function leader(): string {
    const { pid } = nspawn;
    const [first = ""] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ");
    if (first === "") throw new Error(`The machine is not running:\n${output}`);
    return first;
  }

  const enter = (...options: string[]): string[] => ["nsenter", "--target", leader(), ...options];

  const spawn = (script: string) =>
    Bun.spawn([...enter(...NAMESPACES), "/bin/bash", "-euo", "pipefail", "-c", script], {
      env: ENVIRONMENT,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });

  async function run(script: string): Promise<string> {
    const child = spawn(script);
    const [stdout, stderr, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    if (code !== 0) throw new Error(`Exit code ${code} of:\n${script}\n${stdout}\n${stderr}`);
    return stdout;
  }

  const waitUntilBooted = (): Promise<void> =>
    eventually(async () => {
      // `degraded` when a unit failed that a machine of this kind cannot have.
      const state = await run("systemctl is-system-running || true");
      if (!/^(running|degraded)$/.test(state.trim())) throw new Error(`${state}\n${output}`);
    }, BOOT_MS);

  const hasEnded = (): Promise<boolean> =>
    Promise.race([
      nspawn.exited.then(() => true),
      Bun.sleep(SHUTDOWN_MS * SLOWDOWN_MAX).then(() => false),
    ]);

  const machine: Machine = {
    spawn,
    run,
    spawnInNetwork: (command) =>
      Bun.spawn([...enter("--net"), ...command], {
        stdin: "pipe",
        stdout: "pipe",
        stderr: "inherit",
      }),
    async reboot() {
      await run("systemctl reboot");
      // Without a unit of its own, systemd-nspawn leaves it to its caller to start it again.
      if (!(await hasEnded())) throw new Error(`The machine has not shut down:\n${output}`);
      nspawn = start();
      await waitUntilBooted();
    },
    console: () => output,
    async [Symbol.asyncDispose]() {
      // Shuts the machine down in order; it has no data to keep when that takes too long.
      nspawn.kill("SIGTERM");
      if (await hasEnded()) return;
      nspawn.kill("SIGKILL");
      await nspawn.exited;
    },
  };
  await waitUntilBooted();
  if (network !== undefined)
    await run(`ip address add ${network.address}/24 dev host0 && ip link set host0 up`);
  return machine;
}
