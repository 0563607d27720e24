/**
 * Checks whether every server of a NATS cluster is a member of its JetStream group. A new cluster
 * that starts on a busy machine can miss one server permanently: seen with nats-server 2.10.
 * Streams with a replica on each server then cannot be created ("no suitable peers for placement"),
 * and no other check reports why.
 */
import * as z from "zod";

import type { Check, Problem } from "../../shared/preflight.ts";
import { MONITORING, readMonitoring } from "./nats-monitoring.ts";

/** The fields of `/jsz` that are used; only the leader names the other members. */
const jsz = z.object({
  meta_cluster: z
    .object({
      leader: z.string().optional(),
      cluster_size: z.number(),
      replicas: z.array(z.object({ name: z.string() })).optional(),
    })
    .optional(),
});

type Members = NonNullable<z.output<typeof jsz>["meta_cluster"]>;

/**
 * The fields of `/routez` that are used: the servers this one is connected to, with one or more
 * routes each.
 */
const routez = z.object({ routes: z.array(z.object({ remote_id: z.string() })) });

/** `others` are the ids of the servers that this one is connected to. */
type Cluster = { members: Members; others: ReadonlySet<string> };

/** Reads the cluster's state from one server; undefined if no clustered server responds. */
export async function readCluster(monitoring: string): Promise<Cluster | undefined> {
  const members = (await readMonitoring(monitoring, "/jsz", jsz))?.meta_cluster;
  const connected = await readMonitoring(monitoring, "/routez", routez);
  if (members === undefined || connected === undefined) return undefined;
  return { members, others: new Set(connected.routes.map((route) => route.remote_id)) };
}

export const checkNatsMembers = (monitoring = MONITORING): Check => ({
  name: "members of the NATS cluster",
  mend: "Look into the log of nats-server (journalctl -u nats-server).",
  async run() {
    const cluster = await readCluster(monitoring);
    return cluster && membersProblems(cluster);
  },
});

export function membersProblems({ members, others }: Cluster): Problem[] {
  const { leader = "the leader", cluster_size: size, replicas } = members;
  const servers = others.size + 1;
  if (servers <= size) return [];
  const named = [leader, ...(replicas ?? []).map(({ name }) => name)];
  const mend =
    replicas === undefined
      ? `Run shorthop doctor on the host of ${leader}: it names the members.`
      : `On the host of the server that is none of ${named.join(", ")}: systemctl restart nats-server`;
  return [
    {
      status: "failed",
      detail: `JetStream counts ${size} of the cluster's ${servers} servers: streams with ${servers} replicas cannot be created`,
      mend,
    },
  ];
}
