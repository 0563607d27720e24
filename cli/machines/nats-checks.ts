/**
 * The checks of `shorthop doctor` on a NATS server of this host: the members of its cluster, and
 * the space for its streams.
 */
import * as z from "zod";

import { readFreeBytes } from "../../shared/disk.ts";
import type { Check, Problem } from "../../shared/preflight.ts";

/** The address that deploy/nats/server.conf configures. */
const MONITORING = "http://127.0.0.1:8222";

const TIMEOUT_MS = 2_000;

/** Undefined if no NATS server responds, or its response does not match the schema. */
async function readMonitoring<Schema extends z.ZodType>(
  monitoring: string,
  path: string,
  schema: Schema,
): Promise<z.output<Schema> | undefined> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(`${monitoring}${path}`, { signal });
    return schema.safeParse(await response.json()).data;
  } catch {
    return undefined;
  }
}

/** The fields of `/jsz` that are used; only the leader names the other members. */
const clusterFields = z.object({
  meta_cluster: z
    .object({
      leader: z.string().optional(),
      cluster_size: z.number(),
      replicas: z.array(z.object({ name: z.string() })).optional(),
    })
    .optional(),
});

type Members = NonNullable<z.output<typeof clusterFields>["meta_cluster"]>;

/**
 * The fields of `/routez` that are used: the servers this one is connected to, with one or more
 * routes each.
 */
const routez = z.object({ routes: z.array(z.object({ remote_id: z.string() })) });

/** `others` are the ids of the servers that this one is connected to. */
type Cluster = { members: Members; others: ReadonlySet<string> };

/** Reads the cluster's state from one server; undefined if no clustered server responds. */
export async function readCluster(monitoring: string): Promise<Cluster | undefined> {
  const members = (await readMonitoring(monitoring, "/jsz", clusterFields))?.meta_cluster;
  const connected = await readMonitoring(monitoring, "/routez", routez);
  if (members === undefined || connected === undefined) return undefined;
  return { members, others: new Set(connected.routes.map((route) => route.remote_id)) };
}

/**
 * Checks whether every server of a NATS cluster is a member of its JetStream group. A new cluster
 * that starts on a busy machine can miss one server permanently: seen with nats-server 2.10.
 * Streams with a replica on each server then cannot be created ("no suitable peers for placement"),
 * and no other check reports why.
 */
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

/** The used share of its space at which a server counts as nearly full. */
const FULL = 0.9;

const MIB = 1024 ** 2;

/**
 * The fields of `/jsz` that are used: bytes stored, bytes reserved by streams with a maximum, and
 * bytes the server may use in total.
 */
const storageFields = z.object({
  config: z.object({ max_storage: z.number(), store_dir: z.string() }),
  storage: z.number(),
  reserved_storage: z.number(),
});

type JetStream = z.output<typeof storageFields>;

/**
 * A full disk or NATS store stops link changes. Clicks then wait in the journals until those are
 * full too.
 */
export const checkNatsRoom = (monitoring = MONITORING, freeOf = readFreeBytes): Check => ({
  name: "room of NATS",
  mend: "Make its directory readable, or run this as root on the host of NATS.",
  async run() {
    const found = await readMonitoring(monitoring, "/jsz", storageFields);
    return found && roomProblems(found, freeOf(found.config.store_dir));
  },
});

/** `free` is the free disk space in bytes. */
export function roomProblems(
  { config, storage, reserved_storage: reserved }: JetStream,
  free: number,
): Problem[] {
  const problems: Problem[] = [];
  const growth = Math.max(0, reserved - storage);
  if (storage >= FULL * config.max_storage)
    problems.push({
      status: "failed",
      detail: `its streams take ${Math.floor((100 * storage) / config.max_storage)} % of max_file_store`,
      mend: "Raise max_file_store in the server's configuration, and reload it (docs/operations.md#capacity).",
    });
  if (free < growth || free < (1 - FULL) * storage)
    problems.push({
      status: "warning",
      detail: `the disk of ${config.store_dir} has ${Math.floor(free / MIB)} MiB left, and its streams may grow by ${Math.ceil(growth / MIB)} MiB`,
      mend: "Make room (df -h) or enlarge the disk; or lower --max-bytes of CLICKS, never below what it holds (docs/operations.md#capacity).",
    });
  return problems;
}
