/**
 * Network namespaces that act as hosts, each connected to this one by two links: one to our
 * services, which can be cut, and one to clients.
 */
import { existsSync } from "node:fs";

export type NetworkHost = {
  /** Prefix that runs a command on the host. */
  within: string[];
  /** This machine's address on the services link, and the host's address on the clients link. */
  servicesAddress: string;
  clientAddress: string;
  cut(): void;
  mend(): void;
  remove(): void;
};

/** Whether this machine allows creating network namespaces. */
export function canCreateNetworkHosts(): boolean {
  const name = `shorthop-try-${process.pid}`;
  const created = Bun.which("ip") !== null && ip("netns", "add", name);
  if (created) ip("netns", "delete", name);
  return created;
}

/**
 * Creates host number `n` (1 to 9), which no other test has: its addresses, in the private block
 * 10.213.0.0/16, would answer for it.
 */
export function createNetworkHost(n: number): NetworkHost {
  removeAbandonedHosts();
  const name = `shorthop-${process.pid}-${n}`;
  const links = ["s", "c"].map((kind, i) => ({
    near: `sh${kind}${n}-${process.pid % 10_000}`,
    far: `${kind}${n}`,
    nearAddress: `10.213.${n}${i}.1`,
    farAddress: `10.213.${n}${i}.2`,
  }));
  const [services, clients] = links;
  if (services === undefined || clients === undefined) throw new Error("There must be two links.");
  runIp("netns", "add", name);
  runIp("-n", name, "link", "set", "lo", "up");
  for (const { near, far, nearAddress, farAddress } of links) {
    runIp("link", "add", near, "type", "veth", "peer", "name", far, "netns", name);
    runIp("address", "add", `${nearAddress}/24`, "dev", near);
    runIp("link", "set", near, "up");
    runIp("-n", name, "address", "add", `${farAddress}/24`, "dev", far);
    runIp("-n", name, "link", "set", far, "up");
  }
  return {
    within: ["ip", "netns", "exec", name],
    servicesAddress: services.nearAddress,
    clientAddress: clients.farAddress,
    // Cut at the far end, so that packets are dropped silently and senders get no error.
    cut: () => runIp("-n", name, "link", "set", services.far, "down"),
    mend: () => runIp("-n", name, "link", "set", services.far, "up"),
    remove: () => runIp("netns", "delete", name),
  };
}

/**
 * Removes the hosts of test runs that were killed: their addresses would answer instead of the new
 * hosts'.
 */
function removeAbandonedHosts(): void {
  const { stdout } = Bun.spawnSync(["ip", "netns", "list"]);
  for (const [name, pid] of stdout.toString().matchAll(/^shorthop-(\d+)-\d+/gm)) {
    if (!existsSync(`/proc/${pid}`)) ip("netns", "delete", name);
  }
}

const ip = (...args: string[]): boolean => Bun.spawnSync(["ip", ...args]).exitCode === 0;

function runIp(...args: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(["ip", ...args]);
  if (exitCode !== 0) throw new Error(`ip ${args.join(" ")}: ${stderr.toString()}`);
}
