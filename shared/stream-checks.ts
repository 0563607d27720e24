/** Checks of the JetStream streams and of the server's clock, for `shorthop doctor`. */
import {
  connect,
  type ConnectionOptions,
  DiscardPolicy,
  type NatsConnection,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from "nats";
import * as z from "zod";

import { checkClock } from "./clock-check.ts";
import {
  CLICKS_STREAM,
  clicksStreamProblem,
  DEAD_LETTERS_STREAM,
  jetStreamErrorCode,
  LIMITS_STREAM,
  STREAM_NOT_FOUND,
} from "./contracts/streams.ts";
import { SNAPSHOTS_STREAM } from "./links-log/snapshot-stream.ts";
import { LINK_LOG_STREAM } from "./links-log/tail.ts";
import type { NatsFiles } from "./nats-files.ts";
import { natsLogin } from "./nats.ts";
import type { Check, Problem } from "./preflight.ts";
import { isReadable, UNREADABLE, unreadableRemedy } from "./stream-readability.ts";

const TIMEOUT_MS = 1_500;

/** Share of its maximum size from which a stream counts as nearly full. */
const FULL = 0.9;

type StreamOptions = {
  url: string;
  files?: NatsFiles;
  streams: readonly string[];
  /** Those of which the user may read messages. */
  readable?: readonly string[];
  replicas: number;
};

/** Checks the settings and replicas of each stream, and the clock of the connected server. */
export const checkStreams = ({
  url,
  files = {},
  streams,
  readable = [],
  replicas,
}: StreamOptions): Check[] => [
  ...streams.map((stream) => ({
    name: `stream ${stream}`,
    mend: "Mend the connection to NATS first.",
    run: () =>
      withConnection(
        natsLogin(url, files),
        async (nats) =>
          (await checkStream(nats, stream, replicas)) ??
          (readable.includes(stream) ? await readabilityProblem(nats, stream) : undefined),
      ),
  })),
  checkClock("NATS", () =>
    withConnection(natsLogin(url, files), (nats) => readTime(nats, streams[0] ?? LINK_LOG_STREAM)),
  ),
];

async function checkStream(
  nats: NatsConnection,
  stream: string,
  expected: number,
): Promise<Problem | undefined> {
  const manager = await nats.jetstreamManager({ timeout: TIMEOUT_MS, checkAPI: false });
  try {
    const { config, state } = await manager.streams.info(stream);
    return (
      settingsProblem(stream, config) ??
      replicasProblem(nats, config, expected) ??
      spaceProblem(config, state.bytes)
    );
  } catch (error) {
    if (jetStreamErrorCode(error) !== STREAM_NOT_FOUND) throw error;
    return {
      status: "warning",
      detail: "it does not exist",
      mend: "The processes create it when they start; snapshots of links begin with the first account.",
    };
  }
}

async function readabilityProblem(
  nats: NatsConnection,
  stream: string,
): Promise<Problem | undefined> {
  const manager = await nats.jetstreamManager({ timeout: TIMEOUT_MS, checkAPI: false });
  if (await isReadable(manager, stream)) return undefined;
  return { status: "failed", detail: UNREADABLE, mend: unreadableRemedy(stream) };
}

function settingsProblem(stream: string, config: StreamConfig): Problem | undefined {
  const detail = PROBLEMS[stream]?.(config);
  if (detail === undefined) return undefined;
  const mend = `Compare nats stream info ${stream} with docs/architecture.md, and mend it with nats stream edit; a storage of memory needs a new stream.`;
  return { status: "failed", detail, mend };
}

const PROBLEMS: Record<string, ((config: StreamConfig) => string | undefined) | undefined> = {
  [CLICKS_STREAM]: clicksStreamProblem,
  [DEAD_LETTERS_STREAM](config) {
    if (config.storage !== StorageType.File) return "it keeps messages only in memory";
    return config.max_age > 0 ? "its dead letters expire" : undefined;
  },
  [LIMITS_STREAM]: limitsStreamProblem,
  [LINK_LOG_STREAM]: linksStreamProblem,
  [SNAPSHOTS_STREAM]: linksStreamProblem,
};

/** Returns why a stream could lose ledgers of click limits. */
function limitsStreamProblem(config: StreamConfig): string | undefined {
  if (config.storage !== StorageType.File) return "it keeps ledgers of click limits only in memory";
  if (config.max_age > 0)
    return "its ledgers expire, and links would redirect more often than they may";
  if (config.discard !== DiscardPolicy.New) return "it drops old ledgers when it is full";
  return config.max_msgs_per_subject === 1 ? undefined : "it does not keep only the last ledger";
}

/** Returns why a stream could lose entries of the links log, or snapshots of links. */
function linksStreamProblem(config: StreamConfig): string | undefined {
  if (config.storage !== StorageType.File) return "it keeps messages only in memory";
  // The bounds of a mirror are its own (regions.ts).
  if (config.mirror !== undefined) return undefined;
  if (config.max_msgs_per_subject > 0) return "it limits the messages of a subject";
  if (config.max_age > 0) return "its messages expire";
  if (config.retention !== RetentionPolicy.Limits) return "it keeps messages only for consumers";
  if (config.discard !== DiscardPolicy.New) return "it drops old messages when it is full";
  return undefined;
}

function replicasProblem(
  nats: NatsConnection,
  { name, num_replicas: replicas }: StreamConfig,
  expected: number,
): Problem | undefined {
  const mend = `Run nats stream edit ${name} --replicas ${Math.max(expected, 3)} as the operator.`;
  if (replicas < expected)
    return { status: "failed", detail: `it has ${replicas} of ${expected} replicas`, mend };
  // Only a server of a cluster has a cluster name.
  if (replicas > 1 || (nats.info?.cluster ?? "") === "") return undefined;
  return {
    status: "warning",
    detail: "it has one replica in a cluster: without that server it is away",
    mend: `Set NATS_REPLICAS=3 for all processes. ${mend}`,
  };
}

/**
 * A full stream of clicks rejects segments, which then wait in the journals. Workers delete stored
 * segments before it is full: so these are not stored, or the workers may not delete them.
 */
function spaceProblem({ name, max_bytes: max }: StreamConfig, bytes: number): Problem | undefined {
  if (max <= 0 || bytes < FULL * max) return undefined;
  return {
    status: "warning",
    detail: `it is ${Math.floor((100 * bytes) / max)} % full`,
    mend: `See whether workers keep up, and run nats stream edit ${name} --max-bytes SIZE as the operator (docs/operations.md#capacity).`,
  };
}

const streamTime = z.object({ ts: z.string().optional() });

/** The server's time; undefined when it does not report it, as before nats-server 2.10. */
async function readTime(nats: NatsConnection, stream: string): Promise<number | undefined> {
  const { data } = await nats.request(`$JS.API.STREAM.INFO.${stream}`, "", { timeout: TIMEOUT_MS });
  const { ts } = streamTime.parse(JSON.parse(new TextDecoder().decode(data)));
  return ts === undefined ? undefined : Date.parse(ts);
}

export async function withConnection<T>(
  login: ConnectionOptions,
  work: (nats: NatsConnection) => Promise<T>,
): Promise<T> {
  const nats = await connect({ ...login, timeout: TIMEOUT_MS, reconnect: false });
  try {
    return await work(nats);
  } finally {
    await nats.close();
  }
}
