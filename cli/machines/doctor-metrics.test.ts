/** Goal: what doctor finds can be watched: checks, disks and certificates. */
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { runChecks } from "../../shared/preflight.ts";
import { namingProblems, parseMetrics } from "../../test/harness/prometheus.ts";
import { checkDisks, listDisks } from "./disks-check.ts";
import { formatMetrics } from "./doctor-metrics.ts";

const GIB = 1024 ** 3;

test("each check has its worst finding, each disk its bytes, each certificate its expiry", async () => {
  const text = await formatMetrics(
    {
      findings: [
        { subject: "host", check: "disks", status: "ok" },
        { subject: "api", check: "streams", status: "failed" },
        { subject: "api", check: "streams", status: "warning" },
        { subject: "api", check: "backups", status: "warning" },
      ],
      disks: [{ path: "/var/lib", free: 5, size: 10 }],
      certificates: [{ path: "/etc/shorthop/tls/cert.pem", expiresAt: 1_800_000_000_000 }],
    },
    1_700_000_000_000,
  );
  const families = [...parseMetrics(text).values()];
  expect(families.flatMap(namingProblems)).toEqual([]);
  expect(Object.fromEntries(families.flatMap(({ samples }) => [...samples]))).toEqual({
    'shorthop_doctor_status{subject="host",check="disks"}': 0,
    'shorthop_doctor_status{subject="api",check="streams"}': 2,
    'shorthop_doctor_status{subject="api",check="backups"}': 1,
    'shorthop_doctor_disk_free_bytes{path="/var/lib"}': 5,
    'shorthop_doctor_disk_size_bytes{path="/var/lib"}': 10,
    'shorthop_doctor_certificate_expiry_timestamp_seconds{path="/etc/shorthop/tls/cert.pem"}': 1_800_000_000,
    shorthop_doctor_timestamp_seconds: 1_700_000_000,
  });
});

test.each([
  [10, "ok"],
  [9.9, "warning"],
  [3, "warning"],
  [2.9, "failed"],
])("a disk of 100 GiB with %p GiB left: %p", async (free, status) => {
  const disk = { path: "/var/lib", free: free * GIB, size: 100 * GIB };
  expect(await runChecks([checkDisks(() => [disk])])).toMatchObject([{ check: "disks", status }]);
});

test("folders of one disk count once, and those that do not exist not at all", () => {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-disks-"));
  const disks = listDisks([dir, join(dir, "none"), tmpdir()]);
  expect(disks).toMatchObject([{ path: dir }]);
  expect(disks[0]?.free).toBeGreaterThan(0);
  expect(disks[0]?.size).toBeGreaterThan(disks[0]?.free ?? 0);
  rmSync(dir, { recursive: true });
});
