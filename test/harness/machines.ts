/**
 * Network namespaces as machines, joined to this one by two links each: one to our own services, which can
 * be cut, and one to the people who ask.
 */

export type Machine = {
  /** The command that runs another one there. */
  within: string[];
  /** This machine's address on the link to our services, and the other's on the link to people. */
  servicesAddress: string;
  peopleAddress: string;
  cut(): void;
  mend(): void;
  remove(): void;
};

/** Whether namespaces can be made here. */
export function canMakeMachines(): boolean {
  const name = `shorthop-try-${process.pid}`;
  const made = Bun.which("ip") !== null && ip("netns", "add", name);
  if (made) ip("netns", "delete", name);
  return made;
}

/** Makes machine number `n` (1 to 9); addresses are of the private block 10.213.0.0/16. */
export function makeMachine(n: number): Machine {
  const name = `shorthop-${process.pid}-${n}`;
  const links = ["s", "p"].map((kind, i) => ({
    near: `sh${kind}${n}-${process.pid % 10_000}`,
    far: `${kind}${n}`,
    nearAddress: `10.213.${n}${i}.1`,
    farAddress: `10.213.${n}${i}.2`,
  }));
  const [services, people] = links;
  if (services === undefined || people === undefined) throw new Error("There are two links.");
  must("netns", "add", name);
  must("-n", name, "link", "set", "lo", "up");
  for (const { near, far, nearAddress, farAddress } of links) {
    must("link", "add", near, "type", "veth", "peer", "name", far, "netns", name);
    must("address", "add", `${nearAddress}/24`, "dev", near);
    must("link", "set", near, "up");
    must("-n", name, "address", "add", `${farAddress}/24`, "dev", far);
    must("-n", name, "link", "set", far, "up");
  }
  return {
    within: ["ip", "netns", "exec", name],
    servicesAddress: services.nearAddress,
    peopleAddress: people.farAddress,
    // At the far end, so that whoever talks is told nothing: packets go nowhere.
    cut: () => must("-n", name, "link", "set", services.far, "down"),
    mend: () => must("-n", name, "link", "set", services.far, "up"),
    remove: () => must("netns", "delete", name),
  };
}

const ip = (...args: string[]): boolean => Bun.spawnSync(["ip", ...args]).exitCode === 0;

function must(...args: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(["ip", ...args]);
  if (exitCode !== 0) throw new Error(`ip ${args.join(" ")}: ${stderr.toString()}`);
}
