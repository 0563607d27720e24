/**
 * The checks of `shorthop doctor` on the host itself: placeholder secrets, certificates, NATS,
 * kernel settings, disks.
 */
import { X509Certificate } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";

import { DAY_MS } from "../../shared/durations.ts";
import { PLACEHOLDER } from "../../shared/env.ts";
import type { Check, Problem } from "../../shared/preflight.ts";
import { parseEnvironment } from "../installation.ts";
import { checkNatsMembers, checkNatsRoom } from "./nats-checks.ts";

/** Automatic renewal begins 30 days before expiry, so half of that remains only if it fails. */
const EXPIRY_WARNING_DAYS = 15;

/** Kernel settings of redirectors; if two files have the same name, the later one applies. */
const SYSCTL_FILES = ["/usr/lib/sysctl.d/60-shorthop.conf", "/etc/sysctl.d/60-shorthop.conf"];

/** For all other settings, more than the file's value is fine. */
const LESS_IS_BETTER = new Set(["vm.dirty_expire_centisecs"]);

/** The checks of a host; other folders, files and times are those of tests. */
export class HostChecks {
  readonly #configDir: string;
  readonly #procDir: string;
  readonly #sysctlFiles: readonly string[];

  constructor(configDir: string, procDir = "/proc/sys", sysctlFiles = SYSCTL_FILES) {
    this.#configDir = configDir;
    this.#procDir = procDir;
    this.#sysctlFiles = sysctlFiles;
  }

  /** `now` is in milliseconds since the epoch. */
  list(hasRedirector: boolean, now = Date.now()): Check[] {
    const mend = `Make ${this.#configDir} readable, or run this as root.`;
    const kernel: Check = {
      name: "kernel settings",
      mend: "Run sysctl --system.",
      run: () => checkKernel(this.#sysctlFiles, this.#procDir),
    };
    return [
      { name: "secrets", mend, run: () => checkSecrets(this.#configDir) },
      { name: "certificates", mend, run: () => checkCertificates(this.#configDir, now) },
      checkDisks(),
      checkNatsRoom(),
      checkNatsMembers(),
      ...(hasRedirector ? [kernel] : []),
    ];
  }
}

/** Files of the configuration directory and its subdirectories whose names match. */
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
