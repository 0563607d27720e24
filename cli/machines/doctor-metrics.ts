/**
 * The findings of `shorthop doctor` as metrics, in a file for the textfile collector of Prometheus'
 * node exporter.
 */
import { Gauge, Registry } from "prom-client";

import type { Finding } from "../../shared/preflight.ts";
import type { Disk } from "./disks-check.ts";

/** The order of severity; of several findings of a check, the worst counts. */
const STATUSES: readonly Finding["status"][] = ["ok", "warning", "failed"];

export type DoctorResults = {
  findings: readonly (Finding & { subject: string })[];
  disks: readonly Disk[];
  /** Expiry of each certificate in Unix milliseconds. */
  certificates: readonly { path: string; expiresAt: number }[];
};

/** The results in Prometheus' text format. */
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
