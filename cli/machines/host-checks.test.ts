/**
 * Goal: an operator learns what is wrong with a host, by a command and by metrics: secrets,
 * certificates, kernel settings, disks.
 */
import { expect, test } from "bun:test";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { run } from "../../deploy/packages/run.ts";
import { type Finding, runChecks } from "../../shared/preflight.ts";
import { dirForFile } from "../../test/harness/for-file.ts";
import { startNats } from "../../test/harness/nats.ts";
import { namingProblems, parseMetrics } from "../../test/harness/prometheus.ts";
import { formatMetrics } from "./doctor.ts";
import {
  checkDisks,
  checkNatsMembers,
  checkNatsRoom,
  hostChecks,
  listDisks,
  membersProblems,
  roomProblems,
} from "./host-checks.ts";

const GIB = 1024 ** 3;

const SHIPPED = join(import.meta.dir, "../../deploy");

const dir = dirForFile("shorthop-doctor-");

const [configDir, procDir] = [join(dir, "etc"), join(dir, "proc")];

const sysctlFile = join(dir, "60-shorthop.conf");

mkdirSync(join(configDir, "tls"), { recursive: true });

for (const folder of ["net/ipv4", "net/core", "fs", "vm"])
  mkdirSync(join(procDir, folder), { recursive: true });

for (const [name, value] of [
  ["net/ipv4/tcp_migrate_req", 1],
  ["net/core/somaxconn", 8_192],
  ["net/ipv4/tcp_max_syn_backlog", 10_000],
  ["fs/file-max", "9223372036854775807"],
  ["vm/dirty_expire_centisecs", 500],
])
  writeFileSync(join(procDir, String(name)), `${value}\n`);

/** What one of the checks finds. */
async function find(name: string, now = Date.now()): Promise<Finding | undefined> {
  const checks = hostChecks(configDir, true, { procDir, sysctlFiles: [sysctlFile], now });
  return (await runChecks(checks)).find(({ check }) => check === name);
}

test("each placeholder of the shipped examples is named by file and variable, but not comments", async () => {
  writeFileSync(
    join(configDir, "api.env"),
    "#NATS_URL=nats://api:change-me@n\nSHORT_URL=https://s\n",
  );
  expect(await find("secrets")).toEqual({ check: "secrets", status: "ok" });
  cpSync(join(SHIPPED, "systemd/worker.env"), join(configDir, "worker.env"));
  cpSync(join(SHIPPED, "nats"), join(configDir, "nats"), { recursive: true });
  const { status, detail } = (await find("secrets")) ?? {};
  expect(status).toBe("failed");
  for (const name of ["worker.env: VISITOR_HASH_SECRET", "nats/passwords.conf: operator_password"])
    expect(detail).toContain(join(configDir, name));
  expect(detail).not.toContain("api.env");
});

test("a certificate is named before it expires, and when it has; keys are none", async () => {
  const options = ["-nodes", "-subj", "/CN=sho.rt", "-days", "90"];
  const files = ["-keyout", "key.pem", "-out", "cert.pem"];
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
  run(["openssl", "req", "-x509", ...key, ...options, ...files], join(configDir, "tls"));
  expect(await find("certificates")).toEqual({ check: "certificates", status: "ok" });
  const in80Days = Date.now() + 80 * 86_400_000;
  expect(await find("certificates", in80Days)).toMatchObject({
    status: "warning",
    detail: expect.stringMatching(/tls\/cert\.pem expires in (9|10) days/),
  });
  expect(await find("certificates", in80Days + 11 * 86_400_000)).toMatchObject({
    status: "failed",
    detail: expect.stringContaining("cert.pem has expired"),
  });
});

test("kernel settings that are worse than the file says are named, better ones are fine", async () => {
  expect(await find("kernel settings")).toMatchObject({
    status: "warning",
    detail: "60-shorthop.conf is not installed",
  });
  cpSync(join(SHIPPED, "systemd/60-shorthop.conf"), sysctlFile);
  expect(await find("kernel settings")).toEqual({ check: "kernel settings", status: "ok" });
  writeFileSync(join(procDir, "net/ipv4/tcp_migrate_req"), "0\n");
  writeFileSync(join(procDir, "vm/dirty_expire_centisecs"), "3000\n");
  expect(await find("kernel settings")).toMatchObject({
    status: "warning",
    detail: "net.ipv4.tcp_migrate_req is 0, not 1, vm.dirty_expire_centisecs is 3000, not 500",
  });
});

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
  const disks = listDisks([dir, join(dir, "none"), tmpdir()]);
  expect(disks).toMatchObject([{ path: dir }]);
  expect(disks[0]?.free).toBeGreaterThan(0);
  expect(disks[0]?.size).toBeGreaterThan(disks[0]?.free ?? 0);
});

const MIB = 1024 ** 2;

const server = (storage: number, reserved: number) => ({
  config: { max_storage: 1_000 * MIB, store_dir: "/data" },
  storage: storage * MIB,
  reserved_storage: reserved * MIB,
});

// Goal: an operator learns that NATS runs out of room before it stops taking changes and clicks,
// and that a NATS cluster has left a server out, and which.
test.each([
  ["has room for all that streams may take", server(500, 900), 400, []],
  ["is nearly as full as it may be", server(901, 0), 5_000, ["failed"]],
  ["is on a disk that is too small for its streams", server(500, 900), 399, ["warning"]],
  ["has streams without a maximum on a nearly full disk", server(500, 0), 40, ["warning"]],
])("a server that %s", (_, found, freeMib, expected) => {
  expect(roomProblems(found, freeMib * MIB).map(({ status }) => status)).toEqual(expected as never);
});

test("a server is asked at its monitoring port, and a host without one has nothing to check", async () => {
  await using nats = await startNats();
  const check = checkNatsRoom(nats.monitoring);
  expect(await runChecks([check])).toEqual([{ check: "room of NATS", status: "ok" }]);
  const connection = await nats.connect();
  const manager = await connection.jetstreamManager();
  await manager.streams.add({ name: "CLICKS", subjects: ["clicks"], max_bytes: 64 * MIB });
  await connection.close();
  expect(await runChecks([check])).toEqual([{ check: "room of NATS", status: "ok" }]);
  const [full] = await runChecks([checkNatsRoom(nats.monitoring, () => 0)]);
  expect(full?.detail).toContain("has 0 MiB left, and its streams may grow by 64 MiB");
  await nats.kill();
  expect(await runChecks([check])).toEqual([{ check: "room of NATS", status: "ok" }]);
});

/** Ids of servers: that names them only since nats-server 2.10. */
const others = new Set(["NB", "NC"]);

const leader = (size: number, ...names: string[]) => ({
  leader: "nats-1",
  cluster_size: size,
  replicas: names.map((name) => ({ name })),
});

test("a cluster whose servers are all members has no problem, nor one whose server is away", () => {
  const members = leader(3, "nats-2", "nats-3");
  expect(membersProblems({ members, others })).toEqual([]);
  expect(membersProblems({ members: { cluster_size: 3 }, others })).toEqual([]);
  expect(membersProblems({ members, others: new Set(["NB"]) })).toEqual([]);
});

test("the leader names the members, so that one finds the other server; others name the leader", () => {
  const [problem] = membersProblems({ members: leader(2, "nats-2"), others });
  expect(problem?.detail).toStartWith("JetStream counts 2 of the cluster's 3 servers");
  expect(problem?.mend).toBe(
    "On the host of the server that is none of nats-1, nats-2: systemctl restart nats-server",
  );
  const [elsewhere] = membersProblems({
    members: { leader: "nats-1", cluster_size: 2 },
    others,
  });
  expect(elsewhere?.mend).toContain("on the host of nats-1");
});

test("a server that runs alone has nothing to check", async () => {
  await using nats = await startNats();
  const check = checkNatsMembers(nats.monitoring);
  const ok = [{ check: "members of the NATS cluster", status: "ok" as const }];
  expect(await runChecks([check])).toEqual(ok);
  await nats.kill();
  expect(await runChecks([check])).toEqual(ok);
});
