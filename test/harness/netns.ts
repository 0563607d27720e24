/**
 * A network namespace that acts as a host, connected to this one by two links: one to our services,
 * which can be cut, and one to clients.
 */
import { existsSync } from "node:fs";

import { run } from "../../deploy/packages/run.ts";

/** Whether this machine allows creating network namespaces. */
export function canCreateNetworkHosts(): boolean {
  const name = `shorthop-try-${process.pid}`;
  const created = Bun.which("ip") !== null && ip("netns", "add", name);
  if (created) ip("netns", "delete", name);
  return created;
}

/** A host with addresses in the private block 10.213.0.0/16, which another one would answer for. */
export class NetworkHost {
  /** Prefix that runs a command on the host. */
  readonly within: string[];
  /** This machine's address on the services link, and the host's address on the clients link. */
  readonly servicesAddress: string;
  readonly clientAddress: string;
  readonly #name: string;

  constructor() {
    removeAbandonedHosts();
    this.#name = `shorthop-${process.pid}`;
    this.within = ["ip", "netns", "exec", this.#name];
    runIp("netns", "add", this.#name);
    this.#run("link", "set", "lo", "up");
    this.servicesAddress = this.#addLink("s", 0).near;
    this.clientAddress = this.#addLink("c", 1).far;
  }

  /** Cuts the services link, at its far end: packets are dropped, and senders get no error. */
  cut(): void {
    this.#run("link", "set", "s", "down");
  }

  mend(): void {
    this.#run("link", "set", "s", "up");
  }

  remove(): void {
    runIp("netns", "delete", this.#name);
  }

  /** Adds a link; returns the addresses of both of its ends. */
  #addLink(kind: string, i: number): { near: string; far: string } {
    const [near, far] = [`sh${kind}-${process.pid}`, kind];
    const addresses = { near: `10.213.${i}.1`, far: `10.213.${i}.2` };
    runIp("link", "add", near, "type", "veth", "peer", "name", far, "netns", this.#name);
    runIp("address", "add", `${addresses.near}/24`, "dev", near);
    runIp("link", "set", near, "up");
    this.#run("address", "add", `${addresses.far}/24`, "dev", far);
    this.#run("link", "set", far, "up");
    return addresses;
  }

  #run(...args: string[]): void {
    runIp("-n", this.#name, ...args);
  }
}

/**
 * Removes the hosts of test runs that were killed: their addresses would answer instead of the new
 * hosts'.
 */
function removeAbandonedHosts(): void {
  const { stdout } = Bun.spawnSync(["ip", "netns", "list"]);
  for (const [name, pid] of stdout.toString().matchAll(/^shorthop-(\d+)/gm)) {
    if (!existsSync(`/proc/${pid}`)) ip("netns", "delete", name);
  }
}

const ip = (...args: string[]): boolean => Bun.spawnSync(["ip", ...args]).exitCode === 0;

const runIp = (...args: string[]): void => void run(["ip", ...args], "/");
