/**
 * `shorthop doctor`: finds all problems of the installation on this host, and explains how to fix
 * them.
 */
import type { Command } from "commander";
import * as z from "zod";

import {
  exitCodeOf,
  type Finding,
  findingSchema,
  formatFinding,
  runChecks,
} from "../../shared/preflight.ts";
import { configDirOf, type EnvironmentFiles } from "../environment-files.ts";
import { listDisks } from "./disks-check.ts";
import { formatMetrics } from "./doctor-metrics.ts";
import { hostChecks, listCertificates } from "./host-checks.ts";
import { replaceFile } from "./owned-files.ts";
import { commandOf, environmentOf, PROCESSES } from "./processes.ts";

type Env = Record<string, string | undefined>;

/**
 * Which process checks which file of the installation: the file's name, the process and its
 * command.
 */
const BY_FILES: [file: string, process: string, command: string][] = [
  ["migrate", "api", "doctor-migrate"],
  ["migrate", "worker", "doctor-migrate"],
  ...PROCESSES.map((name): [string, string, string] => [name, name, "doctor"]),
];

type Subject = { subject: string; findings: Finding[] };

export function addDoctorCommand(program: Command, env: Env, files: EnvironmentFiles): void {
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
      const checked = BY_FILES.filter(([file]) => files.has(file));
      if (checked.length === 0)
        throw new Error(`${configDirOf(env)} has no environment file that this user may read.`);
      const host = await runChecks(
        hostChecks({ configDir: configDirOf(env) }, files.has("redirector")),
      );
      const subjects: Subject[] = [{ subject: "host", findings: host }];
      for (const [file, name, command] of checked) {
        const findings = await examineProcess(name, command, environmentOf(file, env, files));
        subjects.push({ subject: file === name ? name : `${file} (${name})`, findings });
      }
      print(json, subjects);
      if (metrics !== undefined) await exportMetrics(metrics, subjects, configDirOf(env));
    });
}

async function exportMetrics(
  path: string,
  subjects: readonly Subject[],
  configDir: string,
): Promise<void> {
  const findings = subjects.flatMap(listFindings);
  const certificates = listCertificates(configDir);
  const metrics = await formatMetrics({ findings, disks: listDisks(), certificates });
  // Replaced at once: the exporter may read it at any time.
  replaceFile(path, metrics, { mode: 0o644 });
}

const listFindings = ({ subject, findings }: Subject) =>
  findings.map((finding) => ({ subject, ...finding }));

/** Runs the checks of a process. A process that prints no findings is itself a finding. */
async function examineProcess(name: string, command: string, env: Env): Promise<Finding[]> {
  const child = Bun.spawn([...commandOf(name), command], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  try {
    return z.array(findingSchema).parse(JSON.parse(output));
  } catch {
    const detail = errors.trim() || "it printed nothing";
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
