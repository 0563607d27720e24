/**
 * Goal: an operator learns that NATS runs out of room before it stops taking changes and clicks,
 * and that a NATS cluster has left a server out, and which.
 */
import { expect, test } from "bun:test";

import { runChecks } from "../../shared/preflight.ts";
import { startNats } from "../../test/harness/nats.ts";
import { checkNatsMembers, checkNatsRoom, membersProblems, roomProblems } from "./host-checks.ts";

const MIB = 1024 ** 2;

const server = (storage: number, reserved: number) => ({
  config: { max_storage: 1_000 * MIB, store_dir: "/data" },
  storage: storage * MIB,
  reserved_storage: reserved * MIB,
});

test.each([
  ["has room for all that streams may take", server(500, 900), 400, []],
  [
    "is nearly as full as it may be",
    server(901, 0),
    5_000,
    ["failed: its streams take 90 % of max_file_store"],
  ],
  [
    "is on a disk that is too small for its streams",
    server(500, 900),
    399,
    ["warning: the disk of /data has 399 MiB left, and its streams may grow by 400 MiB"],
  ],
  [
    "has streams without a maximum on a disk that is nearly full",
    server(500, 0),
    40,
    ["warning: the disk of /data has 40 MiB left, and its streams may grow by 0 MiB"],
  ],
])("a server that %s", (_, found, freeMib, expected) => {
  const problems = roomProblems(found, freeMib * MIB);
  expect(problems.map(({ status, detail }) => `${status}: ${detail}`)).toEqual(expected);
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
