/** The connection to NATS: reconnects for ever, notices a dead peer within half a minute. */
import { connect, type ConnectionOptions, Events, type NatsConnection } from "nats";

import type { Log } from "./log.ts";

/** `discard: new` and `allow_direct` semantics this product relies on came with nats-server 2.9. */
export type NatsOptions = { url: string; name: string; log: Log };

export type Nats = {
  /** Resolves once the server is there, however long that takes. */
  connection: Promise<NatsConnection>;
  /** Sends what is still to be sent, and closes. */
  close(): Promise<void>;
};

/**
 * Opens a connection that is kept for ever. The client's own defaults give up after ten attempts and
 * notice a silent peer only after minutes; both would lose clicks here.
 */
export function openNats({ url, name, log }: NatsOptions): Nats {
  let open: NatsConnection | undefined;
  const connection = connect({
    ...natsLogin(url),
    name,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 500,
    reconnectJitter: 200,
    waitOnFirstConnect: true,
    pingInterval: 5_000,
    maxPingOut: 2,
    timeout: 5_000,
    noAsyncTraces: true,
  }).then((connected) => {
    open = connected;
    void reportStatus(connected, log);
    return connected;
  });
  return {
    connection,
    async close() {
      // Without a server there is nobody to send anything to, and draining would wait for one.
      const drained = open?.drain().catch(() => undefined);
      await Promise.race([drained, Bun.sleep(CLOSE_TIMEOUT_MS)]);
    },
  };
}

/** Server, user and password of a `nats://` or `tls://` URL, as the client takes them. */
export function natsLogin(url: string): ConnectionOptions {
  const { protocol, host, username, password } = new URL(url);
  return {
    servers: host,
    ...(username === ""
      ? {}
      : { user: decodeURIComponent(username), pass: decodeURIComponent(password) }),
    ...(protocol === "tls:" ? { tls: {} } : {}),
  };
}

/** Connects once, asks whether JetStream is there, and goes; throws when it is not. */
export const probeNats = (url: string) => async (): Promise<void> => {
  const connection = await connect({ ...natsLogin(url), timeout: 3_000, reconnect: false });
  try {
    await (await connection.jetstreamManager()).getAccountInfo();
  } finally {
    await connection.close();
  }
};

const CLOSE_TIMEOUT_MS = 2_000;

async function reportStatus(connection: NatsConnection, log: Log): Promise<void> {
  for await (const status of connection.status()) {
    if (status.type === Events.Disconnect) log.warn("nats_disconnected");
    if (status.type === Events.Reconnect) log.info("nats_reconnected");
    if (status.type === Events.Error)
      log.warn({ reason: JSON.stringify(status.data) }, "nats_error");
  }
}
