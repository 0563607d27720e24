/** The faults of a redundant fleet: one server or process dies, and comes back. */
import { CLICKS_STREAM } from "../../../shared/contracts/streams.ts";
import { LINK_LOG_STREAM } from "../../../shared/links-log/tail.ts";
import { eventually } from "../../harness/eventually.ts";
import type { NatsServer } from "../../harness/nats-cluster.ts";
import { pickOf } from "../../harness/random.ts";
import type { Traffic } from "../loads/traffic.ts";
import type { Fault } from "../parts.ts";
import type { Fleet } from "../topologies/fleet.ts";

const RECOVERY_MS = 30_000;

/** How long a dead server stays dead. */
const DOWN_MS = 2_000;

async function killServer(fleet: Fleet, server: NatsServer): Promise<void> {
  await server.kill();
  await Bun.sleep(DOWN_MS);
  server.start();
  await eventually(() => fleet.expectRunning(), RECOVERY_MS);
}

const killLeaderOf =
  (stream: string): Fault<Fleet, Traffic>["inject"] =>
  async ({ topology }) =>
    await killServer(topology, await topology.nats.leaderOf(stream));

export const FLEET_FAULTS: readonly Fault<Fleet, Traffic>[] = [
  { name: "leader of LINK_LOG", inject: killLeaderOf(LINK_LOG_STREAM) },
  { name: "leader of CLICKS", inject: killLeaderOf(CLICKS_STREAM) },
  {
    name: "follower of LINK_LOG",
    async inject({ topology, random }) {
      const leader = await topology.nats.leaderOf(LINK_LOG_STREAM);
      await killServer(
        topology,
        pickOf(
          random,
          topology.nats.servers.filter((server) => server !== leader),
        ),
      );
    },
  },
  {
    name: "primary of PostgreSQL",
    async inject({ topology: { postgres } }) {
      await postgres.killPrimary();
      await postgres.promote();
      await postgres.rejoin();
    },
  },
  {
    name: "redirector",
    inject: ({ topology, random }) => pickOf(random, topology.members.redirectors).member.kill(),
  },
  {
    name: "worker",
    inject: ({ topology, random }) => pickOf(random, topology.members.workers).kill(),
  },
  {
    name: "API process",
    inject: ({ topology, random }) => pickOf(random, topology.members.apis).kill(),
  },
];
