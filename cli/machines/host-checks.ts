/**
 * The checks of `shorthop doctor` on the host itself: placeholder secrets, certificates, NATS,
 * kernel settings.
 */
import { X509Certificate } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { DAY_MS } from "../../shared/durations.ts";
import { PLACEHOLDER } from "../../shared/env.ts";
import type { Check, Problem } from "../../shared/preflight.ts";
import { parseEnvironment } from "../environment-files.ts";
import { checkDisks } from "./disks-check.ts";
import { checkNatsMembers } from "./nats-members-check.ts";
import { checkNatsRoom } from "./nats-room-check.ts";

/** Automatic renewal begins 30 days before expiry, so half of that remains only if it fails. */
const EXPIRY_WARNING_DAYS = 15;

/** Kernel settings of redirectors; if two files have the same name, the later one applies. */
const SYSCTL_FILES = ["/usr/lib/sysctl.d/60-shorthop.conf", "/etc/sysctl.d/60-shorthop.conf"];

/** For all other settings, more than the file's value is fine. */
const LESS_IS_BETTER = new Set(["vm.dirty_expire_centisecs"]);

type Host = {
  configDir: string;
  sysctlFiles?: readonly string[];
  procDir?: string;
  /** Milliseconds since the epoch. */
  now?: number;
};

export const hostChecks = (
  { configDir, sysctlFiles = SYSCTL_FILES, procDir = "/proc/sys", now = Date.now() }: Host,
  hasRedirector: boolean,
): Check[] => [
  {
    name: "secrets",
    mend: `Make ${configDir} readable, or run this as root.`,
    run: () => checkSecrets(configDir),
  },
  {
    name: "certificates",
    mend: `Make ${configDir} readable, or run this as root.`,
    run: () => checkCertificates(configDir, now),
  },
  checkDisks(),
  checkNatsRoom(),
  checkNatsMembers(),
  ...(hasRedirector
    ? [
        {
          name: "kernel settings",
          mend: "Run sysctl --system.",
          run: () => checkKernel(sysctlFiles, procDir),
        },
      ]
    : []),
];

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
