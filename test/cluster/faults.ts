/** The faults of the cluster test: one server or process dies, and comes back. */
import { CLICKS_STREAM } from "../../shared/contracts/streams.ts";
import { LINK_LOG_STREAM } from "../../shared/links-log/tail.ts";
import { eventually } from "../harness/eventually.ts";
import type { NatsServer } from "../harness/nats-cluster.ts";
import type { Fleet, Member } from "./fleet.ts";

const RECOVERY_MS = 30_000;

/** How long a dead server stays dead. */
const DOWN_MS = 2_000;

export type Fault = { name: string; inject(): Promise<void> };

/** One fault of each kind; `pick` chooses among equals. */
export function faultsOf(fleet: Fleet, pick: <T>(items: readonly T[]) => T): Fault[] {
  const { nats, postgres, redirectors, workers, apis } = fleet;
  const leaderOf = (stream: string) =>
    eventually(async () => {
      const leader = await nats.leaderOf(stream);
      if (leader === undefined) throw new Error(`${stream} has no leader.`);
      return leader;
    }, RECOVERY_MS);

  async function killServer(server: NatsServer): Promise<void> {
    await server.kill();
    await Bun.sleep(DOWN_MS);
    server.start();
    await eventually(expectReplicated, RECOVERY_MS);
  }

  /**
   * Throws until every server has all messages again: two dead servers of three would be another
   * test.
   */
  async function expectReplicated(): Promise<void> {
    const operator = await nats.connect("operator");
    try {
      const { streams } = await operator.jetstreamManager({ timeout: 1_000 });
      for (const stream of [LINK_LOG_STREAM, CLICKS_STREAM]) {
        const { cluster } = await streams.info(stream);
        if (cluster?.replicas?.filter(({ current }) => current).length !== 2)
          throw new Error(`${stream} is not replicated again.`);
      }
    } finally {
      await operator.close();
    }
  }

  const killOne = (members: readonly Member[]) => () => pick(members).kill();
  return [
    { name: "leader of LINK_LOG", inject: async () => killServer(await leaderOf(LINK_LOG_STREAM)) },
    { name: "leader of CLICKS", inject: async () => killServer(await leaderOf(CLICKS_STREAM)) },
    {
      name: "follower of LINK_LOG",
      async inject() {
        const leader = await leaderOf(LINK_LOG_STREAM);
        await killServer(pick(nats.servers.filter((server) => server !== leader)));
      },
    },
    {
      name: "primary of PostgreSQL",
      async inject() {
        await postgres.killPrimary();
        await postgres.promote();
        await postgres.rejoin();
      },
    },
    { name: "redirector", inject: killOne(redirectors) },
    { name: "worker", inject: killOne(workers) },
    { name: "API process", inject: killOne(apis) },
  ];
}
