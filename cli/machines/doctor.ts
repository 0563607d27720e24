/**
 * `shorthop doctor`: finds all problems of the installation on this host, and explains how to fix
 * them.
 */
import type { Command } from "commander";
import { Gauge, Registry } from "prom-client";
import * as z from "zod";

import {
  exitCodeOf,
  type Finding,
  findingSchema,
  formatFinding,
  runChecks,
} from "../../shared/preflight.ts";
import type { Env, Installation } from "../installation.ts";
import { type Disk, hostChecks, listCertificates, listDisks } from "./host-checks.ts";
import { Host } from "./host.ts";
import { replaceFile } from "./owned-files.ts";
import { commandOf, PROCESSES } from "./processes.ts";

/** The process that checks a file of the installation, and its command for that. */
const BY_FILES: [file: string, process: string, command: string][] = [
  ["migrate", "api", "doctor-migrate"],
  ["migrate", "worker", "doctor-migrate"],
  ...PROCESSES.map((name): [string, string, string] => [name, name, "doctor"]),
];

type Subject = { subject: string; findings: Finding[] };

export function addDoctorCommand(program: Command, installation: Installation): void {
  program
    .command("doctor")
    .summary("Check the installation on this host; each problem comes with what to do")
    .description(
      "Check the installation on this host, by the files in /etc/shorthop: configuration and placeholder secrets, " +
        "privileges, schemas, streams and their replicas, clocks, backups, GeoIP data, certificates, disks and kernel settings. Each " +
        "problem comes with what to do. Exits with 1 if a check failed; warnings are none",
    )
    .option("--json", "print JSON", false)
    .option("--metrics <file>", "also write the results for Prometheus' node exporter")
    .action(async ({ json, metrics }: { json: boolean; metrics?: string }) => {
      const { configDir } = installation;
      const checked = BY_FILES.filter(([file]) => installation.has(file));
      if (checked.length === 0)
        throw new Error(`${configDir} has no environment file that this user may read.`);
      const checks = hostChecks(configDir, installation.has("redirector"));
      const subjects: Subject[] = [{ subject: "host", findings: await runChecks(checks) }];
      for (const [file, name, command] of checked) {
        const findings = await examineProcess(name, command, installation.environmentOf(file));
        subjects.push({ subject: file === name ? name : `${file} (${name})`, findings });
      }
      print(json, subjects);
      if (metrics === undefined) return;
      const certificates = listCertificates(configDir);
      const findings = subjects.flatMap(listFindings);
      const text = await formatMetrics({ findings, disks: listDisks(), certificates });
      // Replaced at once: the exporter may read it at any time.
      replaceFile(metrics, text, { mode: 0o644 });
    });
}

const listFindings = ({ subject, findings }: Subject) =>
  findings.map((finding) => ({ subject, ...finding }));

/** Runs the checks of a process. A process that prints no findings is itself a finding. */
async function examineProcess(name: string, command: string, env: Env): Promise<Finding[]> {
  const { stdout, stderr } = await new Host(env).run([...commandOf(name), command]);
  try {
    return z.array(findingSchema).parse(JSON.parse(stdout));
  } catch {
    const detail = stderr.trim() || "it printed nothing";
    return [{ check: "the checks themselves", status: "failed", detail }];
  }
}

function print(json: boolean, subjects: readonly Subject[]): void {
  const all = subjects.flatMap(({ findings }) => findings);
  const count = (status: Finding["status"]) => all.filter((one) => one.status === status).length;
  if (json) {
    console.log(JSON.stringify(subjects.flatMap(listFindings)));
  } else {
    for (const { subject, findings } of subjects)
      console.log([`${subject}:`, ...findings.map(formatFinding)].join("\n"));
    console.log(`\n${count("ok")} ok, ${count("warning")} warnings, ${count("failed")} failed`);
  }
  process.exitCode = exitCodeOf(all);
}

/** The order of severity; of several findings of a check, the worst counts. */
const STATUSES: readonly Finding["status"][] = ["ok", "warning", "failed"];

export type DoctorResults = {
  findings: readonly (Finding & { subject: string })[];
  disks: readonly Disk[];
  /** Expiry of each certificate in Unix milliseconds. */
  certificates: readonly { path: string; expiresAt: number }[];
};

/** The results in Prometheus' text format, for the textfile collector of its node exporter. */
export async function formatMetrics(
  { findings, disks, certificates }: DoctorResults,
  now = Date.now(),
): Promise<string> {
  const registry = new Registry();
  const gauge = <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
    new Gauge({ name: `shorthop_doctor_${name}`, help, labelNames, registers: [registry] });
  const statusHelp = "What a check of shorthop doctor found: 0 ok, 1 warning, 2 failed";
  const status = gauge("status", statusHelp, ["subject", "check"]);
  const worst = new Map<string, { subject: string; check: string; value: number }>();
  for (const { subject, check, status: found } of findings) {
    const key = JSON.stringify([subject, check]);
    const value = Math.max(STATUSES.indexOf(found), worst.get(key)?.value ?? 0);
    worst.set(key, { subject, check, value });
  }
  for (const { value, ...labels } of worst.values()) status.set(labels, value);
  const free = gauge("disk_free_bytes", "Bytes left on a disk with data", ["path"]);
  const size = gauge("disk_size_bytes", "Bytes of a disk with data", ["path"]);
  for (const disk of disks) {
    free.set({ path: disk.path }, disk.free);
    size.set({ path: disk.path }, disk.size);
  }
  const expiryHelp = "When a certificate in the configuration directory expires";
  const expiry = gauge("certificate_expiry_timestamp_seconds", expiryHelp, ["path"]);
  for (const { path, expiresAt } of certificates) expiry.set({ path }, expiresAt / 1_000);
  gauge("timestamp_seconds", "When shorthop doctor ran").set(now / 1_000);
  return await registry.metrics();
}
