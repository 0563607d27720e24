/** Goal: an operator learns that a NATS cluster has left a server out, and which. */
import { expect, test } from "bun:test";

import { runChecks } from "../../shared/preflight.ts";
import { startNats } from "../../test/harness/nats.ts";
import { checkNatsMembers, membersProblems } from "./nats-members-check.ts";

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
