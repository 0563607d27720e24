/**
 * What would make setup fail, found out before it changes anything: one line for each problem, with
 * what to do; and what a host can carry.
 */
import { lookup } from "node:dns/promises";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { cpus, networkInterfaces, totalmem } from "node:os";

import { readFreeBytes } from "../../../shared/disk.ts";
import { PLACEHOLDER } from "../../../shared/env.ts";
import { withTimeout } from "../../../shared/timeout.ts";
import { parseEnvironment } from "../../installation.ts";
import type { Host } from "../host.ts";
import { environmentFilesOf } from "./environment.ts";
import { clusterVersion } from "./postgres.ts";
import { SECRETS_FILE } from "./secrets.ts";
import { describeTlsProblem } from "./server-files.ts";
import { hostsOf, isLoopback, type Settings } from "./settings.ts";

const GIB = 1024 ** 3;

/** For the packages and the first links and clicks. */
const ROOM_MIN = 5 * GIB;

const POSTGRES_VERSION_MIN = 15;
const POSTGRES_PORT = 5432;
const NATS_PORT = 4222;
const CONNECT_MS = 3_000;

/** Domains of examples, ours and those that RFC 2606 and RFC 6761 reserve. */
const PLACEHOLDER_DOMAIN =
  /^(?:.{1,200}\.)?(?:sho\.rt|example\.(?:com|net|org)|(?:[^.]{1,63}\.)?(?:example|test|invalid|localhost))$/;

/** Returns the problems; none means that setup may begin. With `dns`, the names must resolve. */
export async function findProblems(
  settings: Settings,
  host: Host,
  dns: boolean,
): Promise<string[]> {
  const found = [
    describeDomain(settings),
    ...(dns ? await Promise.all(hostsOf(settings).map(describeUnresolved)) : []),
    ...describeEnvironmentFiles(settings, host),
    describeStores(settings),
    describeTlsProblem(settings, host),
    describeRoom(readFreeBytes(host.path("/var/lib"))),
    ...(await describePorts(settings, host)),
    ...(settings.ROLE === "stores"
      ? [describeCluster(host), await describeData(host)]
      : [await describeUnreachable(settings)]),
  ];
  return found.filter((line) => line !== undefined);
}

const describeDomain = ({ DOMAIN }: Settings): string | undefined =>
  PLACEHOLDER_DOMAIN.test(DOMAIN)
    ? `${DOMAIN} is a domain of examples: give your own with --domain.`
    : undefined;

async function describeUnresolved(host: string): Promise<string | undefined> {
  try {
    await lookup(host);
    return undefined;
  } catch {
    return `${host} does not resolve: add it to your DNS, or give --without-dns to do that later.`;
  }
}

/** A package is missing, or its configuration was written by hand. */
function describeEnvironmentFiles({ ROLE }: Settings, host: Host): (string | undefined)[] {
  const isOurs = existsSync(host.path(SECRETS_FILE));
  return environmentFilesOf(ROLE).map((path) => {
    const text = host.readFile(path);
    if (text === undefined)
      return `${path} is missing: apt-get install ./shorthop*.deb, in the folder of a release.`;
    if (isOurs || PLACEHOLDER.test(text)) return undefined;
    return `${path} was configured without setup, which therefore leaves this host alone (docs/operations.md).`;
  });
}

function describeStores({ ROLE, STORES }: Settings): string | undefined {
  if (ROLE !== "stores") {
    if (!isLoopback(STORES)) return undefined;
    return "The stores are on another host: give its address with --stores.";
  }
  const own = Object.values(networkInterfaces()).flatMap((addresses) =>
    (addresses ?? []).map(({ address }) => address),
  );
  if (isLoopback(STORES) || own.includes(STORES)) return undefined;
  return `${STORES} is no address of this host: give one that other hosts reach with --stores.`;
}

/** `free` is in bytes. */
export const describeRoom = (free: number): string | undefined =>
  free >= ROOM_MIN
    ? undefined
    : `The disk of /var/lib has ${Math.floor(free / 1024 ** 2)} MiB left: make room for at least ${ROOM_MIN / GIB} GiB.`;

/** The ports that this host will use, each with the unit that may use it already. */
function portsOf({ ROLE, TLS }: Settings, host: Host): [port: number, unit: string][] {
  const environment = parseEnvironment(host.readFile("/etc/shorthop/redirector.env") ?? "");
  const redirector = "shorthop-redirector@1";
  const ports: [number, string][] = [
    [TLS === "none" ? Number(environment["REDIRECTOR_PORT"] ?? 80) : 443, redirector],
  ];
  if (TLS === "certbot") ports.push([80, redirector]);
  if (ROLE !== "redirector") ports.push([3000, "shorthop-api@1"], [3001, "shorthop-api@1"]);
  if (ROLE === "stores")
    ports.push([NATS_PORT, "nats-server"], [8222, "nats-server"], [POSTGRES_PORT, "postgresql"]);
  return ports;
}

async function describePorts(settings: Settings, host: Host): Promise<(string | undefined)[]> {
  const lines: (string | undefined)[] = [];
  for (const [port, unit] of portsOf(settings, host)) {
    const isOurs = (await host.run(["systemctl", "is-active", "--quiet", unit])).code === 0;
    if (!isOurs && (await isUsed(port)))
      lines.push(
        `Port ${port} is used${await describeUser(port, host)}: stop it, as ${unit} needs the port.`,
      );
  }
  return lines;
}

/** Whether another process listens on a port of this host. */
export const isUsed = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error) => resolve("code" in error && error.code === "EADDRINUSE"));
    server.listen({ port, host: "0.0.0.0" }, () => server.close(() => resolve(false)));
  });

async function describeUser(port: number, host: Host): Promise<string> {
  const query = ["ss", "--no-header", "--listening", "--tcp", "--numeric", "--processes"];
  const { stdout } = await host.run([...query, `sport = :${port}`]);
  const [, name] = /users:\(\("([^"]{1,100})"/.exec(stdout) ?? [];
  return name === undefined ? "" : ` by ${name}`;
}

function describeCluster(host: Host): string | undefined {
  const version = clusterVersion(host);
  if (version === undefined) return undefined;
  if (Number(version) < POSTGRES_VERSION_MIN)
    return `PostgreSQL ${version} is installed: Shorthop needs ${POSTGRES_VERSION_MIN} or later.`;
  const file = `/etc/postgresql/${version}/main/postgresql.conf`;
  const [, port] = /^port\s{0,9}=\s{0,9}(\d{1,5})/m.exec(host.readFile(file) ?? "") ?? [];
  if (port === undefined || Number(port) === POSTGRES_PORT) return undefined;
  return `PostgreSQL listens on port ${port}: set port = ${POSTGRES_PORT} in ${file}, and restart it.`;
}

/** Whether NATS can be reached on the host of the stores. */
async function describeUnreachable({ STORES }: Settings): Promise<string | undefined> {
  const server = { hostname: STORES, port: NATS_PORT, socket: { data: () => undefined } };
  try {
    (await withTimeout(Bun.connect(server), CONNECT_MS)).end();
    return undefined;
  } catch {
    return `NATS at ${STORES}:${NATS_PORT} cannot be reached: start it, or let this host through its firewall.`;
  }
}

/** A database of this name that setup did not make. */
async function describeData(host: Host): Promise<string | undefined> {
  if (existsSync(host.path(SECRETS_FILE))) return undefined;
  const { code, stdout } = await host.psql(
    "shorthop",
    "select count(*) from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r';",
  );
  if (code !== 0) return undefined;
  return `PostgreSQL has a database shorthop with ${stdout.trim()} tables that setup did not make: rename or drop it, or bring back ${SECRETS_FILE}.`;
}

/** Of a million links, as in docs/capacity.md: PostgreSQL, NATS and the links store of the host. */
const DISK_PER_MILLION = 1.8 * GIB;

/** NATS keeps an index of all links in memory; PostgreSQL and the processes need the rest. */
const MEMORY_PER_MILLION = 0.13 * GIB;
const MEMORY_OF_THE_REST = 1 * GIB;

/** Links never need more than half of the disk: clicks are on it too. */
const DISK_SHARE = 0.5;

/** Less than this is enough to try Shorthop, and not for visitors. */
const MEMORY_MIN = 1 * GIB;

/** One or two lines about the machine of the stores; memory and free space are in bytes. */
export function describeCapacity(
  free: number,
  memory = totalmem(),
  processors = cpus().length,
): string[] {
  const millions = Math.min(
    (DISK_SHARE * free) / DISK_PER_MILLION,
    Math.max(0, memory - MEMORY_OF_THE_REST) / MEMORY_PER_MILLION,
  );
  const links = millions < 0.1 ? "less than 100,000" : `about ${round(millions)} million`;
  return [
    `This machine: ${processors} ${processors === 1 ? "CPU" : "CPUs"}, ${round(memory / GIB)} GiB of memory, ${round(free / GIB)} GiB free. ` +
      `It can carry ${links} links (docs/capacity.md).`,
    // Some of the memory of a machine is the kernel's.
    ...(memory < 0.9 * MEMORY_MIN
      ? ["It has less than 1 GiB of memory: enough to try Shorthop, not for visitors."]
      : []),
  ];
}

const round = (value: number): string =>
  value < 10 ? String(Math.round(value * 10) / 10) : Math.round(value).toLocaleString("en");
