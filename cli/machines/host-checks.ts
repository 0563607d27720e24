/**
 * The checks of `shorthop doctor` on the host itself: placeholder secrets, certificates, NATS,
 * kernel settings, disks.
 */
import { X509Certificate } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";

import * as z from "zod";

import { readFreeBytes } from "../../shared/disk.ts";
import { DAY_MS } from "../../shared/durations.ts";
import { PLACEHOLDER } from "../../shared/env.ts";
import type { Check, Problem } from "../../shared/preflight.ts";
import { parseEnvironment } from "../installation.ts";

/** Automatic renewal begins 30 days before expiry, so half of that remains only if it fails. */
const EXPIRY_WARNING_DAYS = 15;

/** Kernel settings of redirectors; if two files have the same name, the later one applies. */
const SYSCTL_FILES = ["/usr/lib/sysctl.d/60-shorthop.conf", "/etc/sysctl.d/60-shorthop.conf"];

/** For all other settings, more than the file's value is fine. */
const LESS_IS_BETTER = new Set(["vm.dirty_expire_centisecs"]);

/** The checks of a host; other folders, files and times (in milliseconds) are those of tests. */
export function hostChecks(
  configDir: string,
  hasRedirector: boolean,
  { procDir = "/proc/sys", sysctlFiles = SYSCTL_FILES, now = Date.now() } = {},
): Check[] {
  const mend = `Make ${configDir} readable, or run this as root.`;
  const kernel: Check = {
    name: "kernel settings",
    mend: "Run sysctl --system.",
    run: () => checkKernel(sysctlFiles, procDir),
  };
  return [
    { name: "secrets", mend, run: () => checkSecrets(configDir) },
    { name: "certificates", mend, run: () => checkCertificates(configDir, now) },
    checkDisks(),
    checkNatsRoom(),
    checkNatsMembers(),
    ...(hasRedirector ? [kernel] : []),
  ];
}

function listFiles(dir: string, endings: RegExp): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { recursive: true, encoding: "utf8" })
    .filter((name) => endings.test(name))
    .toSorted()
    .map((name) => join(dir, name));
}

/** Finds placeholder secrets of the examples in environment files and in the NATS configuration. */
function checkSecrets(configDir: string): Problem | undefined {
  const found = listFiles(configDir, /\.(env|conf)$/).flatMap((path) =>
    readFileSync(path, "utf8")
      .split("\n")
      .filter((line) => !/^\s*[#;]/.test(line) && PLACEHOLDER.test(line))
      .map((line) => `${path}: ${/[\w-]+/.exec(line)?.[0] ?? ""}`),
  );
  if (found.length === 0) return undefined;
  return {
    status: "failed",
    detail: `placeholders of the examples in ${found.join(", ")}`,
    mend: "Set secrets of your own: openssl rand -hex 24.",
  };
}

/** The certificates in the configuration directory, with their expiry in Unix milliseconds. */
export const listCertificates = (configDir: string): { path: string; expiresAt: number }[] =>
  listFiles(configDir, /\.(pem|crt|cer)$/).flatMap((path) =>
    readCertificates(path).map(({ validTo }) => ({ path, expiresAt: Date.parse(validTo) })),
  );

function checkCertificates(configDir: string, now: number): Problem | undefined {
  const [first] = listCertificates(configDir)
    .map(({ path, expiresAt }) => ({ path, days: Math.floor((expiresAt - now) / DAY_MS) }))
    .filter(({ days }) => days < EXPIRY_WARNING_DAYS)
    .toSorted((a, b) => a.days - b.days);
  if (first === undefined) return undefined;
  const { path, days } = first;
  return {
    status: days < 0 ? "failed" : "warning",
    detail: days < 0 ? `${path} has expired` : `${path} expires in ${days} days`,
    mend: "Renew it, and see why the certificate manager has not.",
  };
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** The certificates in a file; none for a key file. */
const readCertificates = (path: string): X509Certificate[] =>
  (readFileSync(path, "utf8").match(CERTIFICATE) ?? []).map((pem) => new X509Certificate(pem));

function checkKernel(files: readonly string[], procDir: string): Problem | undefined {
  const path = files.findLast((file) => existsSync(file));
  if (path === undefined)
    return {
      status: "warning",
      detail: "60-shorthop.conf is not installed",
      mend: "Copy systemd/60-shorthop.conf to /etc/sysctl.d, and run sysctl --system.",
    };
  const expected = Object.entries(parseEnvironment(readFileSync(path, "utf8")));
  const wrong = expected.flatMap(([name, value]) => {
    const present = readSetting(procDir, name);
    const isFine =
      present !== undefined &&
      (LESS_IS_BETTER.has(name) ? present <= Number(value) : present >= Number(value));
    return isFine ? [] : [`${name} is ${present ?? "unknown"}, not ${value}`];
  });
  if (wrong.length === 0) return undefined;
  const mend = `Run sysctl --load ${path}; containers take these settings from their host.`;
  return { status: "warning", detail: wrong.join(", "), mend };
}

/** Undefined if the kernel does not have the setting. */
function readSetting(procDir: string, name: string): number | undefined {
  const path = join(procDir, name.replaceAll(".", "/"));
  return existsSync(path) ? Number(readFileSync(path, "utf8").trim()) : undefined;
}

/** Where Debian's packages and ours keep data; those that share a disk count once. */
const DATA_DIRS = [
  "/var/lib",
  "/var/lib/shorthop-links",
  "/var/lib/postgresql",
  "/var/lib/nats",
  "/var/lib/clickhouse",
  "/var/backups",
];

/** Free shares of a disk from which on it counts as nearly full, and as full. */
const FREE_LOW = 0.1;
const FREE_OUT = 0.03;

const GIB = 1024 ** 3;

/** Bytes that processes without privileges can still write, and those of the whole disk. */
export type Disk = { path: string; free: number; size: number };

export function listDisks(dirs: readonly string[] = DATA_DIRS): Disk[] {
  const seen = new Set<number>();
  return dirs.flatMap((path) => {
    if (!existsSync(path)) return [];
    const { dev } = statSync(path);
    if (seen.has(dev)) return [];
    seen.add(dev);
    const { bavail, blocks, bsize } = statfsSync(path);
    return [{ path, free: bavail * bsize, size: blocks * bsize }];
  });
}

export const checkDisks = (list = listDisks): Check => ({
  name: "disks",
  mend: "Run this as root.",
  run: () => list().flatMap((disk) => findDiskProblem(disk) ?? []),
});

function findDiskProblem({ path, free, size }: Disk): Problem | undefined {
  if (free >= FREE_LOW * size) return undefined;
  return {
    status: free < FREE_OUT * size ? "failed" : "warning",
    detail: `the disk of ${path} has ${(free / GIB).toFixed(1)} GiB of ${(size / GIB).toFixed(1)} GiB left`,
    mend: "See what takes the room (du --one-file-system), or enlarge the disk (docs/operations.md#capacity).",
  };
}

/** The address that deploy/nats/server.conf configures. */
const MONITORING = "http://127.0.0.1:8222";

const TIMEOUT_MS = 2_000;

/** Undefined if no NATS server responds, or its response does not match the schema. */
async function readMonitoring<Schema extends z.ZodType>(
  monitoring: string,
  path: string,
  schema: Schema,
): Promise<z.output<Schema> | undefined> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(`${monitoring}${path}`, { signal });
    return schema.safeParse(await response.json()).data;
  } catch {
    return undefined;
  }
}

/** The fields of `/jsz` that are used; only the leader names the other members. */
const clusterFields = z.object({
  meta_cluster: z
    .object({
      leader: z.string().optional(),
      cluster_size: z.number(),
      replicas: z.array(z.object({ name: z.string() })).optional(),
    })
    .optional(),
});

type Members = NonNullable<z.output<typeof clusterFields>["meta_cluster"]>;

/** The fields of `/routez` that are used: the other servers, one or more routes to each. */
const routez = z.object({ routes: z.array(z.object({ remote_id: z.string() })) });

/** `others` are the ids of the servers that this one is connected to. */
type Cluster = { members: Members; others: ReadonlySet<string> };

/** Reads the cluster's state from one server; undefined if no clustered server responds. */
export async function readCluster(monitoring: string): Promise<Cluster | undefined> {
  const members = (await readMonitoring(monitoring, "/jsz", clusterFields))?.meta_cluster;
  const connected = await readMonitoring(monitoring, "/routez", routez);
  if (members === undefined || connected === undefined) return undefined;
  return { members, others: new Set(connected.routes.map((route) => route.remote_id)) };
}

/**
 * Checks whether every server of a NATS cluster is a member of its JetStream group. A new cluster
 * that starts on a busy machine can miss one server permanently: seen with nats-server 2.10.
 * Streams with a replica on each server then cannot be created ("no suitable peers for placement"),
 * and no other check reports why.
 */
export const checkNatsMembers = (monitoring = MONITORING): Check => ({
  name: "members of the NATS cluster",
  mend: "Look into the log of nats-server (journalctl -u nats-server).",
  async run() {
    const cluster = await readCluster(monitoring);
    return cluster && membersProblems(cluster);
  },
});

export function membersProblems({ members, others }: Cluster): Problem[] {
  const { leader = "the leader", cluster_size: size, replicas } = members;
  const servers = others.size + 1;
  if (servers <= size) return [];
  const named = [leader, ...(replicas ?? []).map(({ name }) => name)];
  const mend =
    replicas === undefined
      ? `Run shorthop doctor on the host of ${leader}: it names the members.`
      : `On the host of the server that is none of ${named.join(", ")}: systemctl restart nats-server`;
  return [
    {
      status: "failed",
      detail: `JetStream counts ${size} of the cluster's ${servers} servers: streams with ${servers} replicas cannot be created`,
      mend,
    },
  ];
}

/** The used share of its space at which a server counts as nearly full. */
const FULL = 0.9;

const MIB = 1024 ** 2;

/** The fields of `/jsz` that are used: bytes stored, reserved by streams, and at most. */
const storageFields = z.object({
  config: z.object({ max_storage: z.number(), store_dir: z.string() }),
  storage: z.number(),
  reserved_storage: z.number(),
});

type JetStream = z.output<typeof storageFields>;

/** A full disk or store stops link changes, and clicks wait in the journals. */
export const checkNatsRoom = (monitoring = MONITORING, freeOf = readFreeBytes): Check => ({
  name: "room of NATS",
  mend: "Make its directory readable, or run this as root on the host of NATS.",
  async run() {
    const found = await readMonitoring(monitoring, "/jsz", storageFields);
    return found && roomProblems(found, freeOf(found.config.store_dir));
  },
});

/** `free` is the free disk space in bytes. */
export function roomProblems(
  { config, storage, reserved_storage: reserved }: JetStream,
  free: number,
): Problem[] {
  const problems: Problem[] = [];
  const growth = Math.max(0, reserved - storage);
  if (storage >= FULL * config.max_storage)
    problems.push({
      status: "failed",
      detail: `its streams take ${Math.floor((100 * storage) / config.max_storage)} % of max_file_store`,
      mend: "Raise max_file_store in the server's configuration, and reload it (docs/operations.md#capacity).",
    });
  if (free < growth || free < (1 - FULL) * storage)
    problems.push({
      status: "warning",
      detail: `the disk of ${config.store_dir} has ${Math.floor(free / MIB)} MiB left, and its streams may grow by ${Math.ceil(growth / MIB)} MiB`,
      mend: "Make room (df -h) or enlarge the disk; or lower --max-bytes of CLICKS, never below what it holds (docs/operations.md#capacity).",
    });
  return problems;
}
