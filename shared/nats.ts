/** The connection to NATS: it reconnects forever and detects a dead server within half a minute. */
import { connect, type ConnectionOptions, Events, type NatsConnection } from "nats";

import type { Log } from "./log.ts";

/** The server must be nats-server 2.9 or later, for the semantics of `discard: new` and `allow_direct`. */
export type NatsOptions = { url: string; name: string; log: Log };

export type Nats = {
  /** Resolves when the server is reached, however long that takes. */
  connection: Promise<NatsConnection>;
  /** Sends what is buffered, and closes. */
  close(): Promise<void>;
};

/**
 * Opens a connection that reconnects forever. By default the client gives up after ten attempts and detects a silent
 * server only after minutes; both would lose clicks.
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
    // Otherwise two rejected logins in a row close the connection for good, e.g. while passwords are being changed.
    ignoreAuthErrorAbort: true,
    pingInterval: 5_000,
    maxPingOut: 2,
    timeout: 5_000,
    noAsyncTraces: true,
  }).then((connected) => {
    open = connected;
    reportStatus(connected, log).catch((error: unknown) =>
      log.warn({ error }, "nats_status_not_followed"),
    );
    return connected;
  });
  return {
    connection,
    async close() {
      // Without a server, draining would wait for one.
      const drained = open?.drain().catch(() => undefined);
      await Promise.race([drained, Bun.sleep(CLOSE_TIMEOUT_MS)]);
    },
  };
}

/**
 * Parses server, user and password of a `nats://` or `tls://` URL into connection options. Each user has its own
 * prefix for inboxes, so that permissions can keep users from reading each other's replies (deploy/nats/nats.conf).
 */
export function natsLogin(url: string): ConnectionOptions {
  const { protocol, host, username, password } = new URL(url);
  const user = decodeURIComponent(username);
  return {
    servers: host,
    ...(user === "" ? {} : { user, pass: decodeURIComponent(password) }),
    // Other characters have a meaning in subjects.
    ...(/^[\w-]+$/.test(user) ? { inboxPrefix: `_INBOX_${user}` } : {}),
    ...(protocol === "tls:" ? { tls: {} } : {}),
  };
}

/** Connects once, without retries, and checks that JetStream is enabled; throws when it is not. */
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
