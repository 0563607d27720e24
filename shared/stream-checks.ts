/**
 * Checks the JetStream streams: their settings, for `shorthop doctor`; and while a process runs,
 * whether they can be read and have enough replicas.
 */
import {
  connect,
  type ConnectionOptions,
  DiscardPolicy,
  type JetStreamManager,
  type NatsConnection,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from "nats";
import * as z from "zod";

import {
  CLICKS_STREAM,
  clicksStreamProblem,
  DEAD_LETTERS_STREAM,
  isReadable,
  jetStreamErrorCode,
  LIMITS_STREAM,
  STREAM_NOT_FOUND,
} from "./contracts/streams.ts";
import { SNAPSHOTS_STREAM } from "./links-log/snapshots.ts";
import { LINK_LOG_STREAM } from "./links-log/tail.ts";
import type { Log } from "./log.ts";
import { type NatsFiles, natsLogin, probeNats } from "./nats.ts";
import { type Check, checkClock, type Problem } from "./preflight.ts";
import { repeat, repeatEvery, type Repetition } from "./repeat.ts";

const TIMEOUT_MS = 1_500;

/** Checks that a server can be reached, and has JetStream. */
export const checkNats = (url: string, files: NatsFiles): Check => ({
  name: "NATS_URL",
  mend: "Start NATS with JetStream and the users of nats/users.conf.",
  run: probeNats(url, files),
});

/** Share of its maximum size from which a stream counts as nearly full. */
const FULL = 0.9;

type ExpectedStreams = {
  url: string;
  files?: NatsFiles;
  streams: readonly string[];
  /** The streams whose messages the user may read. */
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
}: ExpectedStreams): Check[] => [
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
  const mend = `Compare nats stream info ${stream} with docs/architecture.md, and mend it with nats stream edit; a stream that is stored in memory must be replaced by a new one.`;
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
    detail: "it has one replica in a cluster: while that server is down, it is unavailable",
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

const REQUEST_TIMEOUT_MS = 2_000;

const UNREADABLE = "NATS accepts messages and does not return them: a part of its data is damaged";

/** The remedy for a stream that cannot be read. */
const unreadableRemedy = (stream: string): string =>
  `At once: nats stream rm ${stream}, and restart nats-server. Processes make the stream again and publish what they have, clicks of the last 150 s (docs/runbook.md#shorthopstreamdamaged).`;

const openManager = async (nats: Promise<NatsConnection>): Promise<JetStreamManager> =>
  (await nats).jetstreamManager({ timeout: REQUEST_TIMEOUT_MS, checkAPI: false });

/** Time between two reads: far less than `ACKED_RETENTION_MS`. */
const READ_INTERVAL_MS = 10_000;

/**
 * Reads the last message of streams, and logs once for each that cannot be read. When a disk has
 * damaged a block, nats-server 2.9 still accepts messages but returns none after the damage: links
 * and clicks are lost in it.
 */
export class ReadabilityWatch {
  readonly #nats: Promise<NatsConnection>;
  readonly #streams: readonly string[];
  readonly #log: Log;
  readonly #damaged = new Set<string>();
  readonly #reading: Repetition;

  constructor(
    nats: Promise<NatsConnection>,
    streams: readonly string[],
    log: Log,
    intervalMs = READ_INTERVAL_MS,
  ) {
    this.#nats = nats;
    this.#streams = streams;
    this.#log = log;
    this.#reading = repeatEvery(intervalMs, () => this.#readAll(), {
      log,
      failure: "streams_not_watched",
    });
  }

  /** A warning to the operator and the remedy; undefined unless a stream is known as damaged. */
  warning(): string | undefined {
    const [first] = this.#damaged;
    return first === undefined
      ? undefined
      : `${[...this.#damaged].join(", ")}: ${UNREADABLE}. ${unreadableRemedy(first)}`;
  }

  stop(): void {
    void this.#reading.stop();
  }

  async #readAll(): Promise<void> {
    const manager = await openManager(this.#nats);
    for (const stream of this.#streams) {
      // It may not exist yet, or NATS may be away: other warnings say so.
      const readable = await isReadable(manager, stream).catch(() => true);
      if (readable) this.#damaged.delete(stream);
      else if (!this.#damaged.has(stream)) {
        this.#damaged.add(stream);
        this.#log.error({ stream }, "stream_damaged");
      }
    }
  }
}

/** Time between two comparisons. */
const COMPARE_INTERVAL_MS = 60_000;

/** Time after a failed comparison, as before the streams exist. */
const COMPARE_RETRY_MS = 5_000;

/**
 * Compares the replicas of streams with `expected`, and logs once for each that has fewer. When a
 * server becomes part of a cluster, its streams keep one replica until an operator changes that.
 * The process is ready nevertheless, but the failure of one server then stops the stream.
 */
export class ReplicaWatch {
  readonly #nats: Promise<NatsConnection>;
  readonly #streams: readonly string[];
  readonly #expected: number;
  readonly #log: Log;
  readonly #found = new Map<string, number>();
  readonly #comparing: Repetition | undefined;

  constructor(
    nats: Promise<NatsConnection>,
    streams: readonly string[],
    expected: number,
    log: Log,
  ) {
    this.#nats = nats;
    this.#streams = streams;
    this.#expected = expected;
    this.#log = log;
    // A single server needs no comparison. A stream that does not exist yet is created with
    // `expected` replicas.
    if (expected === 1) return;
    this.#comparing = repeat(() =>
      this.#compare().then(
        () => COMPARE_INTERVAL_MS,
        () => COMPARE_RETRY_MS,
      ),
    );
  }

  /** A warning to the operator; undefined unless a stream is known to have too few replicas. */
  warning(): string | undefined {
    const named = [...this.#found]
      .filter(([, replicas]) => replicas < this.#expected)
      .map(([stream, replicas]) => `${stream} has ${replicas} of ${this.#expected}`);
    return named.length === 0 ? undefined : named.join(", ");
  }

  stop(): void {
    void this.#comparing?.stop();
  }

  async #compare(): Promise<void> {
    const { streams } = await openManager(this.#nats);
    for (const stream of this.#streams) {
      const replicas = (await streams.info(stream)).config.num_replicas;
      const expected = this.#expected;
      if (replicas < expected && this.#found.get(stream) !== replicas)
        this.#log.warn({ stream, replicas, expected }, "stream_has_too_few_replicas");
      this.#found.set(stream, replicas);
    }
  }
}
