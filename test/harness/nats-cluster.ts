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
import { endWithParent } from "../../deploy/local/end-with-parent.ts";
import { natsLogin } from "../../shared/nats.ts";
import { createCertificates } from "./certificates.ts";
import { eventually } from "./eventually.ts";
import type { NatsProgram } from "./nats-versions.ts";
import { freePort } from "./ports.ts";
import { PROJECT_DIR } from "./stack.ts";

const SHIPPED = join(PROJECT_DIR, "deploy/nats");
const START_TIMEOUT_MS = 20_000;

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

export type NatsServer = {
  name: string;
  port: number;
  /** Where servers of far regions connect, in a hub. */
  leafPort: number;
  monitoringPort: number;
  /** Starts it on the same ports and store; `file` is the configuration, by default as before. */
  start(file?: ConfigFile): void;
  kill(signal?: NodeJS.Signals): Promise<void>;
  running(): boolean;
};

export type NatsCluster = {
  servers: NatsServer[];
  /** `NATS_URL` of a user: all servers, or those given. */
  url(user: NatsUser, servers?: readonly NatsServer[]): string;
  /** What a process needs to accept the servers' certificates. */
  env: { NODE_EXTRA_CA_CERTS: string };
  connect(user: NatsUser, servers?: readonly NatsServer[]): Promise<NatsConnection>;
  /** The server that leads a stream; undefined during an election. */
  leaderOf(stream: string): Promise<NatsServer | undefined>;
  output(): string;
  [Symbol.asyncDispose](): Promise<void>;
};

/**
 * Prepares `count` servers and starts them: one by itself from `nats.conf`, several as a cluster
 * from `cluster.conf`. Resolves when JetStream responds. Without `tls` for a test that connects by
 * itself: it has no certificate of its own.
 */
export async function startNatsCluster(
  program: NatsProgram,
  { count = 3, tls = true, region, address = "127.0.0.1", within = [] }: ClusterOptions = {},
): Promise<NatsCluster> {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-nats-"));
  const reachableAt = region !== undefined && "addresses" in region ? region.addresses : [];
  const certificates = createCertificates(dir, reachableAt);
  const ports = Array.from({ length: count }, () => ({
    client: freePort(),
    route: freePort(),
    monitoring: freePort(),
    leaf: freePort(),
  }));
  const servers = ports.map((own, i) => {
    const home = join(dir, `nats-${i + 1}`);
    const name = region === undefined ? `nats-${i + 1}` : `nats-${region.domain}-${i + 1}`;
    writeSettings(home, name, { own, all: ports, address, program, dir });
    if (region !== undefined) joinRegions(home, region, own, count > 1);
    if (!tls) removeClientTls(join(home, "server.conf"));
    return prepareServer([...within, program.path], home, name, own);
  });
  const url = (user: NatsUser, some: readonly NatsServer[] = servers) =>
    some
      .map(({ port }) => `${tls ? "tls" : "nats"}://${user}:${PASSWORD}@${address}:${port}`)
      .join(",");
  const open = (user: NatsUser, some?: readonly NatsServer[]) =>
    connect({
      ...natsLogin(url(user, some)),
      ...(tls ? { tls: { caFile: certificates.ca } } : {}),
      timeout: 5_000,
    });

  for (const server of servers) server.start(configOf(count, region));
  const cluster: NatsCluster = {
    servers,
    url,
    env: { NODE_EXTRA_CA_CERTS: certificates.ca },
    connect: open,
    async leaderOf(stream) {
      const nats = await open(
        "operator",
        servers.filter((server) => server.running()),
      );
      try {
        const manager = await nats.jetstreamManager({ timeout: 1_000, checkAPI: false });
        const { cluster: placement } = await manager.streams.info(stream);
        return servers.find(({ name }) => name === placement?.leader);
      } catch {
        return undefined;
      } finally {
        await nats.close();
      }
    },
    output: () =>
      servers
        .map(
          ({ name }, i) => `${name}:\n${readFileSync(join(dir, `nats-${i + 1}`, "log"), "utf8")}`,
        )
        .join("\n"),
    async [Symbol.asyncDispose]() {
      await Promise.all(servers.map((server) => server.kill()));
      rmSync(dir, { recursive: true, force: true });
    },
  };
  await eventually(async () => {
    try {
      const nats = await open("operator");
      try {
        await (await nats.jetstreamManager()).getAccountInfo();
      } finally {
        await nats.close();
      }
    } catch (error) {
      throw new Error(`NATS is not ready:\n${cluster.output()}`, { cause: error });
    }
  }, START_TIMEOUT_MS);
  if (count > 1) await waitForMembers(servers);
  return cluster;
}

/**
 * Waits until all servers are members of the cluster, and restarts one that it has left out, as
 * `shorthop doctor` says (nats-members-check.ts): a new cluster can do that when its first seconds
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

function prepareServer(
  command: readonly string[],
  home: string,
  name: string,
  { client, leaf, monitoring }: Ports,
): NatsServer {
  let child: Bun.Subprocess | undefined;
  let config: ConfigFile = "nats.conf";
  return {
    name,
    port: client,
    leafPort: leaf,
    monitoringPort: monitoring,
    running: () => child?.exitCode === null && child.signalCode === null,
    start(file) {
      config = file ?? config;
      const log = join(home, "log");
      child = Bun.spawn(endWithParent([...command, "-c", join(home, config), "--log", log]), {
        stdio: ["ignore", "ignore", "ignore"],
      });
    },
    async kill(signal = "SIGKILL") {
      child?.kill(signal);
      await child?.exited;
    },
  };
}
