/**
 * NATS servers that run from the files of deploy/nats, as on an operator's machines: with TLS,
 * users and routes.
 */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { connect, type NatsConnection } from "nats";

import { readCluster } from "../../cli/machines/host-checks.ts";
import { findFreePort } from "../../deploy/local/ports.ts";
import { endWithParent } from "../../deploy/local/supervisor.ts";
import { natsLogin } from "../../shared/nats.ts";
import { createCertificates } from "./certificates.ts";
import { eventually } from "./eventually.ts";
import type { NatsProgram } from "./nats.ts";
import { PROJECT_DIR } from "./stack.ts";

const SHIPPED = join(PROJECT_DIR, "deploy/nats");
const START_TIMEOUT_MS = 20_000;
const ELECTION_MS = 30_000;

/** Begins with digits and looks like a number, which NATS must not take it for. */
const PASSWORD = "12e3 of this test".replaceAll(" ", "-");

type Ports = { client: number; route: number; monitoring: number; leaf: number };

/** The part of a cluster in a system of several regions. */
type Region =
  /** The hub; its certificate is also for `addresses`, where far servers find it. */
  | { domain: "hub"; addresses: readonly string[] }
  /**
   * A far region, which finds the hub's servers at `hub`, `host:port` each, and trusts the
   * authority `ca`.
   */
  | { domain: string; hub: readonly string[]; ca: string };

type ClusterOptions = {
  count?: number;
  tls?: boolean;
  region?: Region;
  /** Where clients find the servers, if they run elsewhere: `within` is a command prefix. */
  address?: string;
  within?: readonly string[];
};

type NatsUser = "redirector" | "worker" | "api" | "operator";

type ConfigFile = "nats.conf" | "cluster.conf" | "hub.conf" | "far.conf";

/**
 * Servers from the files of deploy/nats: one by itself from `nats.conf`, several as a cluster from
 * `cluster.conf`.
 */
export class NatsCluster implements AsyncDisposable {
  readonly servers: readonly NatsServer[];
  /** What a process needs to accept the servers' certificates. */
  readonly env: { NODE_EXTRA_CA_CERTS: string };
  readonly #dir = mkdtempSync(join(tmpdir(), "shorthop-nats-"));
  readonly #address: string;
  readonly #tls: boolean;

  /**
   * Starts `count` servers. Resolves when JetStream responds. Without `tls` for a test that
   * connects by itself: it has no certificate of its own.
   */
  static async start(program: NatsProgram, options: ClusterOptions = {}): Promise<NatsCluster> {
    const cluster = new NatsCluster(program, options);
    const { count = 3, region } = options;
    for (const server of cluster.servers) server.start(configOf(count, region));
    await eventually(() => cluster.#requireJetStream(), START_TIMEOUT_MS);
    if (count > 1) await waitForMembers(cluster.servers);
    return cluster;
  }

  private constructor(
    program: NatsProgram,
    { count = 3, tls = true, region, address = "127.0.0.1", within = [] }: ClusterOptions,
  ) {
    this.#address = address;
    this.#tls = tls;
    const reachableAt = region !== undefined && "addresses" in region ? region.addresses : [];
    const dir = this.#dir;
    this.env = { NODE_EXTRA_CA_CERTS: createCertificates(dir, reachableAt).ca };
    const ports = Array.from({ length: count }, () => ({
      client: findFreePort(),
      route: findFreePort(),
      monitoring: findFreePort(),
      leaf: findFreePort(),
    }));
    this.servers = ports.map((own, i) => {
      const home = join(dir, `nats-${i + 1}`);
      const name = region === undefined ? `nats-${i + 1}` : `nats-${region.domain}-${i + 1}`;
      writeSettings(home, name, { own, all: ports, address, program, dir });
      if (region !== undefined) joinRegions(home, region, own, count > 1);
      if (!tls) removeClientTls(join(home, "server.conf"));
      return new NatsServer([...within, program.path], home, name, own);
    });
  }

  /** `NATS_URL` of a user: all servers, or those given. */
  url(user: NatsUser, servers: readonly NatsServer[] = this.servers): string {
    const protocol = this.#tls ? "tls" : "nats";
    return servers
      .map(({ port }) => `${protocol}://${user}:${PASSWORD}@${this.#address}:${port}`)
      .join(",");
  }

  connect(user: NatsUser, servers?: readonly NatsServer[]): Promise<NatsConnection> {
    return connect({
      ...natsLogin(this.url(user, servers)),
      ...(this.#tls ? { tls: { caFile: this.env.NODE_EXTRA_CA_CERTS } } : {}),
      timeout: 5_000,
    });
  }

  /** The server that leads a stream, once there is one. */
  leaderOf(stream: string): Promise<NatsServer> {
    return eventually(async () => {
      const leader = await this.#findLeader(stream);
      if (leader === undefined) throw new Error(`${stream} has no leader.`);
      return leader;
    }, ELECTION_MS);
  }

  async #findLeader(stream: string): Promise<NatsServer | undefined> {
    const running = this.servers.filter((server) => server.running());
    const nats = await this.connect("operator", running);
    try {
      const manager = await nats.jetstreamManager({ timeout: 1_000, checkAPI: false });
      const { cluster: placement } = await manager.streams.info(stream);
      return this.servers.find(({ name }) => name === placement?.leader);
    } catch {
      return undefined;
    } finally {
      await nats.close();
    }
  }

  output(): string {
    return this.servers.map((server) => `${server.name}:\n${server.output()}`).join("\n");
  }

  async #requireJetStream(): Promise<void> {
    try {
      const nats = await this.connect("operator");
      try {
        await (await nats.jetstreamManager()).getAccountInfo();
      } finally {
        await nats.close();
      }
    } catch (error) {
      throw new Error(`NATS is not ready:\n${this.output()}`, { cause: error });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.servers.map((server) => server.kill()));
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

/**
 * Waits until all servers are members of the cluster, and restarts one that it has left out, as
 * `shorthop doctor` says (host-checks.ts): a new cluster can do that when its first seconds
 * are slow.
 */
async function waitForMembers(servers: readonly NatsServer[]): Promise<void> {
  let restarted = false;
  await eventually(async () => {
    const clusters = await Promise.all(
      servers.map(({ monitoringPort }) => readCluster(`http://127.0.0.1:${monitoringPort}`)),
    );
    const leader = clusters.find((cluster) => cluster?.members.replicas !== undefined)?.members;
    const members = [leader?.leader, ...(leader?.replicas ?? []).map(({ name }) => name)];
    if (members.length === servers.length) return;
    const isStuck = leader?.cluster_size === members.length;
    if (isStuck && !restarted) {
      restarted = true;
      for (const server of servers.filter(({ name }) => !members.includes(name))) {
        await server.kill("SIGTERM");
        server.start();
      }
    }
    throw new Error(`Members of the cluster: ${members.join()}`);
  }, START_TIMEOUT_MS);
}

/**
 * Copies the shipped files and sets only what an operator sets: names, addresses, paths and
 * passwords.
 */
function writeSettings(
  home: string,
  name: string,
  {
    own,
    all,
    address,
    program,
    dir,
  }: { own: Ports; all: readonly Ports[]; address: string; program: NatsProgram; dir: string },
): void {
  mkdirSync(home);
  for (const file of readdirSync(SHIPPED).filter((found) => found.endsWith(".conf")))
    cpSync(join(SHIPPED, file), join(home, file));
  const edit = (file: string, edits: Edits): void => editFile(join(home, file), edits);
  const [major, minor] = program.version;
  const isLater = major > 2 || minor >= 10;
  edit("server.conf", [
    ["nats-1", name],
    ["0.0.0.0:4222", `${address}:${own.client}`],
    ["127.0.0.1:8222", `127.0.0.1:${own.monitoring}`],
    ["/etc/shorthop/nats", dir],
    ["/var/lib/nats", join(home, "store")],
    ...(isLater ? [["#sync_interval", "sync_interval"] as const] : []),
  ]);
  edit("passwords.conf", [["change-me", PASSWORD]]);
  edit("routes.conf", [
    ["0.0.0.0:6222", `127.0.0.1:${own.route}`],
    ["change-me", PASSWORD],
    ...all.map(({ route }, i) => [`nats-${i + 1}.internal:6222`, `127.0.0.1:${route}`] as const),
    ["/etc/shorthop/nats", dir],
  ]);
}

/** The file that a server is started with. */
function configOf(count: number, region: Region | undefined): ConfigFile {
  if (region !== undefined) return "addresses" in region ? "hub.conf" : "far.conf";
  return count === 1 ? "nats.conf" : "cluster.conf";
}

type Edits = readonly (readonly [shipped: string, value: string])[];

function editFile(path: string, edits: Edits): void {
  let text = readFileSync(path, "utf8");
  for (const [shipped, value] of edits) {
    if (!text.includes(shipped)) throw new Error(`${path} has no ${shipped}`);
    text = text.replaceAll(shipped, value);
  }
  writeFileSync(path, text);
}

/** Edits what an operator of several regions does. */
function joinRegions(home: string, region: Region, { leaf }: Ports, isCluster: boolean): void {
  editFile(join(home, "server.conf"), [["#domain: hub", `domain: ${region.domain}`]]);
  if ("addresses" in region) {
    editFile(join(home, "hub-settings.conf"), [
      ...(isCluster ? [] : [["cluster.conf", "nats.conf"] as const]),
      ["change-me", PASSWORD],
      ["7422", String(leaf)],
      ["/etc/shorthop/nats", join(home, "..")],
    ]);
  } else {
    const urls = region.hub.map((address) => `"tls://region:${PASSWORD}@${address}"`);
    editFile(join(home, "far-settings.conf"), [
      ...(isCluster ? [["nats.conf", "cluster.conf"] as const] : []),
      ['"tls://region:change-me@nats-1.internal:7422"', urls.join(" ")],
      ["/etc/shorthop/nats/ca.crt", region.ca],
    ]);
  }
}

/** Removes the block for clients, as an operator may. */
function removeClientTls(path: string): void {
  const text = readFileSync(path, "utf8");
  writeFileSync(path, text.replace(/^tls \{[^}]*\}$/m, ""));
}

/** One server, on the same ports and store whenever it runs. */
export class NatsServer {
  readonly name: string;
  readonly port: number;
  /** Where servers of far regions connect, in a hub. */
  readonly leafPort: number;
  readonly monitoringPort: number;
  readonly #command: readonly string[];
  readonly #home: string;
  #child: Bun.Subprocess | undefined;
  #config: ConfigFile = "nats.conf";

  constructor(
    command: readonly string[],
    home: string,
    name: string,
    { client, leaf, monitoring }: Ports,
  ) {
    this.#command = command;
    this.#home = home;
    this.name = name;
    this.port = client;
    this.leafPort = leaf;
    this.monitoringPort = monitoring;
  }

  /** `file` is the configuration, by default as before. */
  start(file = this.#config): void {
    this.#config = file;
    const log = join(this.#home, "log");
    const command = [...this.#command, "-c", join(this.#home, file), "--log", log];
    this.#child = Bun.spawn(endWithParent(command), { stdio: ["ignore", "ignore", "ignore"] });
  }

  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    this.#child?.kill(signal);
    await this.#child?.exited;
  }

  running(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null;
  }

  output(): string {
    return readFileSync(join(this.#home, "log"), "utf8");
  }
}
