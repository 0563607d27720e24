/** What scenarios run on: where its processes answer, and how they are examined. */
import type { JetStreamManager, NatsConnection } from "nats";

/** Addresses may change when a process is started again. */
export interface Topology extends AsyncDisposable {
  /** Addresses of API processes and of redirectors. */
  apis(): readonly string[];
  redirectors(): readonly string[];
  clickhouseUrl(): string;
  /** Connects to the NATS with the clicks, as a user who may do everything. */
  connectNats(): Promise<NatsConnection>;
  /** Connects to the NATS whose links log the redirectors follow. */
  connectLinksNats(): Promise<NatsConnection>;
  /** Whether redirectors follow a mirror, which gets links some time after they are published. */
  readonly isMirrored: boolean;
  /** Creates an account that may do a million things a minute; returns its key. */
  createKey(): Promise<string>;
  /** Throws unless everything runs again that the next fault may end. */
  expectRunning(): Promise<void>;
  /** One line for the log, to explain a link that is outdated. */
  describe(): Promise<string>;
  /** Processes that run although the topology has ended. */
  findLeftovers(): readonly string[];
  /** What processes said, by file name. */
  logs(): Readonly<Record<string, string>>;
}

/** Works with a connection of its own, which it closes. */
export async function withNats<T>(
  connection: Promise<NatsConnection>,
  work: (nats: NatsConnection) => Promise<T>,
): Promise<T> {
  const nats = await connection;
  try {
    return await work(nats);
  } finally {
    await nats.close();
  }
}

/** Works on streams and consumers by a connection of its own, which it closes. */
export const withJetStream = <T>(
  connection: Promise<NatsConnection>,
  work: (manager: JetStreamManager) => Promise<T>,
): Promise<T> => withNats(connection, async (nats) => work(await nats.jetstreamManager()));
