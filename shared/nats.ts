/**
 * The connection to NATS: it uses any of several servers, reconnects forever and detects a dead
 * server within half a minute.
 */
import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

import {
  connect,
  type ConnectionOptions,
  credsAuthenticator,
  Events,
  type Msg,
  type NatsConnection,
} from "nats";
import * as z from "zod";

import { LimitedLog, type Log } from "./log.ts";
import type { ProcessMetrics } from "./metrics.ts";

export interface Nats {
  /** Resolves when any server is reached, however long that takes. */
  readonly connection: Promise<NatsConnection>;
  /** The prefix of its user's inboxes; undefined for any. */
  readonly inboxPrefix: string | undefined;
  /**
   * Whether it is connected. Messages that are sent meanwhile are buffered in memory until it
   * reconnects.
   */
  connected(): boolean;
  /** Calls `run` whenever the connection was lost, or is there again. */
  on(event: ConnectionEvent, run: () => void): void;
  /** Sends the buffered messages, and closes. */
  close(): Promise<void>;
}

type ConnectionEvent = Events.Disconnect | Events.Reconnect;

/**
 * A connection that reconnects forever. By default the client gives up after ten attempts and
 * detects a silent server only after minutes; both would lose clicks.
 */
export class NatsClient implements Nats {
  readonly connection: Promise<NatsConnection>;
  readonly inboxPrefix: string | undefined;
  readonly #log: Log;
  readonly #listeners: { event: ConnectionEvent; run: () => void }[] = [];
  #open: NatsConnection | undefined;
  #isConnected = false;

  /**
   * `url` is one server or a comma-separated list. The servers must be nats-server 2.9 or later,
   * for the semantics of `discard: new` and `allow_direct`.
   */
  constructor(url: string, name: string, log: Log, files?: NatsFiles) {
    this.#log = log;
    const login = natsLogin(url, files);
    this.inboxPrefix = login.inboxPrefix;
    this.connection = this.#connect({ ...login, name });
  }

  connected(): boolean {
    return this.#isConnected;
  }

  on(event: ConnectionEvent, run: () => void): void {
    this.#listeners.push({ event, run });
  }

  async close(): Promise<void> {
    // Without a server, draining would wait for one.
    const drained = this.#open?.drain().catch(() => undefined);
    await Promise.race([drained, Bun.sleep(CLOSE_TIMEOUT_MS)]);
  }

  async #connect(options: ConnectionOptions): Promise<NatsConnection> {
    const open = await connect({
      ...options,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 500,
      reconnectJitter: 200,
      waitOnFirstConnect: true,
      // Otherwise two rejected logins in a row close the connection for good, e.g. while passwords
      // are being changed.
      ignoreAuthErrorAbort: true,
      pingInterval: 5_000,
      maxPingOut: 2,
      timeout: 5_000,
      noAsyncTraces: true,
    });
    this.#open = open;
    this.#isConnected = true;
    this.#followStatus(open).catch((error: unknown) =>
      this.#log.warn({ error }, "nats_status_not_followed"),
    );
    return open;
  }

  async #followStatus(open: NatsConnection): Promise<void> {
    for await (const { type, data } of open.status()) {
      if (type === Events.Disconnect) {
        this.#isConnected = false;
        this.#log.warn("nats_disconnected");
      }
      if (type === Events.Reconnect) {
        this.#isConnected = true;
        this.#log.info("nats_reconnected");
      }
      if (type === Events.Error) this.#log.warn({ reason: JSON.stringify(data) }, "nats_error");
      for (const { event, run } of this.#listeners) if (event === type) run();
    }
  }
}

/**
 * Commas are also allowed in passwords, so only one before the next scheme separates two servers.
 */
const SEPARATOR = /,\s*(?=[a-z]+:\/\/)/;

/**
 * Parses a comma-separated list of `nats://` or `tls://` URLs into connection options; a connection
 * uses any of the servers. Users are the same on all servers of a cluster: user and password of the
 * first URL are used for all, and the others may leave them out; a credentials file replaces both.
 * Each user has its own prefix for inboxes, so that permissions can keep users from reading each
 * other's replies (deploy/nats/users.conf). Throws when the URLs contradict each other, and when
 * the credentials cannot be read.
 */
export function natsLogin(urls: string, files: NatsFiles = {}): ConnectionOptions {
  const [first, ...others] = urls
    .trim()
    .split(SEPARATOR)
    .map((url) => new URL(url));
  if (first === undefined) throw new TypeError("must name a server");
  for (const { protocol, username, password } of others) {
    if (protocol !== first.protocol) throw new TypeError("must use one scheme for all servers");
    const repeats = username === first.username && password === first.password;
    if (!repeats && username + password !== "")
      throw new TypeError("must have the same user and password for all servers");
  }
  const { user, login } = loginOf(first, files);
  const { NATS_CA_FILE: caFile } = files;
  const tls = caFile === undefined ? {} : { caFile };
  return {
    servers: [first, ...others].map(({ host }) => host),
    ...login,
    // Other characters have a meaning in subjects.
    ...(/^[\w-]+$/.test(user) ? { inboxPrefix: `_INBOX_${user}` } : {}),
    ...(first.protocol === "tls:" || caFile !== undefined ? { tls } : {}),
  };
}

/** The user's name, and the options by which it logs in. */
function loginOf(
  { username, password }: URL,
  files: NatsFiles,
): { user: string; login: ConnectionOptions } {
  if (files.NATS_CREDS === undefined) {
    const user = decodeURIComponent(username);
    return { user, login: user === "" ? {} : { user, pass: decodeURIComponent(password) } };
  }
  const path = resolveCredential(files.NATS_CREDS, files.CREDENTIALS_DIRECTORY);
  // Read again for each connection: the file may have been renewed.
  const authenticator = credsAuthenticator(() => readFileSync(path));
  return { user: readUserName(readFileSync(path, "utf8")), login: { authenticator } };
}

/** A value of `NATS_URL`: a comma-separated list that {@link natsLogin} accepts. */
export const envNatsUrl = z
  .string("must be set to a nats or tls URL, or a list of them")
  .superRefine((value, context) => {
    const addIssue = (message: string) => context.addIssue({ code: "custom", message });
    const urls = value.trim().split(SEPARATOR);
    if (urls.some((url) => !URL.canParse(url) || !SCHEMES.has(new URL(url).protocol))) {
      addIssue("must be a nats or tls URL, or a comma-separated list of them");
      return;
    }
    try {
      natsLogin(value);
    } catch (error) {
      addIssue(error instanceof Error ? error.message : String(error));
    }
  });

/**
 * Copies of each stream that a process creates: 1 on one server, 3 or 5 in a cluster of at least as
 * many.
 */
export const envNatsReplicas = z
  .enum(["1", "3", "5"], "must be 1, 3 or 5")
  .default("1")
  .transform(Number);

const SCHEMES = new Set(["nats:", "tls:"]);

/**
 * Timeout of each server of the list, so that three take less than a probe's own timeout
 * (`preflight.ts`).
 */
const PROBE_TIMEOUT_MS = 1_500;

/**
 * Connects to any server, without retries, and checks that JetStream is enabled; throws when it is
 * not.
 */
export const probeNats = (url: string, files?: NatsFiles) => async (): Promise<void> => {
  const connection = await connect({
    ...natsLogin(url, files),
    timeout: PROBE_TIMEOUT_MS,
    reconnect: false,
  });
  try {
    await (await connection.jetstreamManager()).getAccountInfo();
  } finally {
    await connection.close();
  }
};

const CLOSE_TIMEOUT_MS = 2_000;

/** Variables of the processes that connect to NATS, besides `NATS_URL`. */
export const natsFileVariables = {
  /** A credentials file (JWT and key), in place of user and password in `NATS_URL`. */
  NATS_CREDS: z.string().optional(),
  /** Certificates of the authority that signed those of the servers, if it is a private one. */
  NATS_CA_FILE: z.string().optional(),
  /** Directory of systemd credentials, which systemd sets. */
  CREDENTIALS_DIRECTORY: z.string().optional(),
};

export type NatsFiles = z.input<z.ZodObject<typeof natsFileVariables>>;

/**
 * The path from which a process can read a file that only root can: systemd passes it as a
 * credential of the same name (systemd.exec(5), LoadCredential=).
 */
export function resolveCredential(path: string, directory: string | undefined): string {
  if (directory === undefined) return path;
  const passed = join(directory, basename(path));
  return existsSync(passed) ? passed : path;
}

const claims = z.object({ name: z.string().default("") });

/** The JWT of a credentials file: three parts of base64url. */
const JWT = /^[\w-]+\.([\w-]+)\.[\w-]+$/m;

/** The name of the user in a credentials file. Throws when it has no JWT. */
export function readUserName(credentials: string): string {
  const payload = JWT.exec(credentials)?.[1];
  if (payload === undefined) throw new Error("NATS_CREDS: the file has no JWT of a user.");
  return claims.parse(JSON.parse(Buffer.from(payload, "base64url").toString())).name;
}

/**
 * Replies to requests over NATS. The sender names the subject of its reply, and this process
 * publishes there with its own permissions. So each kind of request gets replies only on the
 * subjects that are meant for them.
 */
export class Replies {
  readonly #log: LimitedLog;
  #refused = 0;

  constructor(log: Log) {
    this.#log = new LimitedLog(log, "reply_refused");
  }

  /** Requests that were rejected because of their reply subject. */
  get refused(): number {
    return this.#refused;
  }

  /**
   * Returns the function that replies to a request; undefined when the request has no reply
   * subject, or one that does not match `subjects`, which is logged and counted.
   */
  to(request: Msg, subjects: RegExp): ((data: string) => void) | undefined {
    if (subjects.test(request.reply ?? "")) return (data) => void request.respond(data);
    this.#refused++;
    // The request's subject is one of few, without wildcards; the sender can set the reply subject
    // to anything.
    this.#log.error(request.subject);
    return undefined;
  }

  register(metrics: ProcessMetrics): void {
    const help = "Requests over NATS that were refused because of their reply subject";
    metrics.counter("replies_refused_total", help, () => this.#refused);
  }
}
