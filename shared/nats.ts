/** The connection to NATS: reconnects for ever, notices a dead peer within half a minute. */
import { connect, Events, type NatsConnection } from "nats";

import type { Log } from "./log.ts";

/** `discard: new` and `allow_direct` semantics this product relies on came with nats-server 2.9. */
export type NatsOptions = { url: string; name: string; log: Log };

/**
 * Connects, waiting as long as the server takes to appear. The client's own defaults give up after
 * ten attempts and notice a silent peer only after minutes; both would lose clicks here.
 */
export async function connectNats({ url, name, log }: NatsOptions): Promise<NatsConnection> {
  const { protocol, host, username, password } = new URL(url);
  const connection = await connect({
    servers: host,
    name,
    ...(username === ""
      ? {}
      : { user: decodeURIComponent(username), pass: decodeURIComponent(password) }),
    ...(protocol === "tls:" ? { tls: {} } : {}),
    maxReconnectAttempts: -1,
    reconnectTimeWait: 500,
    reconnectJitter: 200,
    waitOnFirstConnect: true,
    pingInterval: 5_000,
    maxPingOut: 2,
    timeout: 5_000,
    noAsyncTraces: true,
  });
  void reportStatus(connection, log);
  return connection;
}

async function reportStatus(connection: NatsConnection, log: Log): Promise<void> {
  for await (const status of connection.status()) {
    if (status.type === Events.Disconnect) log.warn("nats_disconnected");
    if (status.type === Events.Reconnect) log.info("nats_reconnected");
    if (status.type === Events.Error) log.warn({ reason: String(status.data) }, "nats_error");
  }
}
