/**
 * Posts a body to a receiver by HTTP/1.1, on a connection of its own, to the address that was
 * checked. Redirects are not followed, and nothing is decompressed.
 */
import { lookup } from "node:dns/promises";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP } from "node:net";

import { addressGroups } from "../../shared/addresses.ts";
import { DELIVERY_ERRORS, type DeliveryErrorCode } from "../../shared/contracts/webhook-schemas.ts";
import { freshResolver } from "../../shared/hosts.ts";
import { KeyCounts } from "../../shared/local-limits.ts";
import { portOf, type ReceiverRules } from "../../shared/webhooks.ts";

/** Longest time that a body is waited for once the headers, and so the result, are there. */
const BODY_TIMEOUT_MS = 1_000;

/** Maximum interim responses; real ones are one or two (RFC 9110 §15.2). */
const INTERIM_MAX = 100;

/** Maximum bytes of a body that are read; the rest is left unread. */
export const BODY_BYTES_MAX = 64 * 1_024;

/** Maximum bytes of status line and headers. */
const HEAD_BYTES_MAX = 16 * 1_024;

/** Maximum bytes of the body that are kept. */
export const EXCERPT_BYTES_MAX = 1_024;

export type PostRequest = {
  receiver: Receiver;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  /** Ends the attempt, by its deadline or because the process stops. */
  signal: AbortSignal;
};

export type ReceiverResponse = {
  status: number;
  /** The value of `Retry-After`; undefined without one. */
  retryAfter: string | undefined;
  /** The beginning of the body as text. */
  excerpt: string;
};

/**
 * Returns the response. Throws when the connection fails, when there is no response before `signal`
 * is aborted, and when it is not HTTP/1.1.
 */
export async function post(request: PostRequest): Promise<ReceiverResponse> {
  request.signal.throwIfAborted();
  const responded = Promise.withResolvers<IncomingMessage>();
  const sent = open(request);
  let interim = 0;
  sent.on("information", () => {
    if (++interim > INTERIM_MAX)
      sent.destroy(new DeliveryError("response_invalid", "There is no final response."));
  });
  sent.on("response", responded.resolve);
  sent.on("error", (error) => responded.reject(describe(error)));
  sent.end(request.body);
  try {
    const response = await responded.promise;
    const excerpt = await readExcerpt(response);
    const retryAfter = response.headers["retry-after"];
    return { status: response.statusCode ?? 0, retryAfter, excerpt };
  } finally {
    sent.destroy();
  }
}

/** Connects to the checked address; TLS verifies the certificate for the host of the URL. */
function open({ receiver: { address, port, url }, headers, body, signal }: PostRequest) {
  const options = {
    host: address,
    port,
    method: "POST",
    path: `${url.pathname}${url.search}`,
    setHost: false,
    headers: {
      host: url.host,
      ...headers,
      "content-length": String(body.length),
      "accept-encoding": "identity",
      connection: "close",
    },
    agent: false,
    maxHeaderSize: HEAD_BYTES_MAX,
    signal,
  };
  if (url.protocol === "http:") return requestHttp(options);
  const host = bareHost(url);
  const name = isIP(host) === 0 ? { servername: host } : {};
  return requestHttps({ ...options, ...name });
}

/** The beginning of a body, as far as it comes in time and within its bound. */
async function readExcerpt(response: IncomingMessage): Promise<string> {
  const ended = Promise.withResolvers<void>();
  const timer = setTimeout(ended.resolve, BODY_TIMEOUT_MS);
  let [excerpt, bytes] = [Buffer.alloc(0), 0];
  response.on("data", (part: Buffer) => {
    bytes += part.length;
    const room = EXCERPT_BYTES_MAX - excerpt.length;
    if (room > 0) excerpt = Buffer.concat([excerpt, part.subarray(0, room)]);
    if (bytes >= BODY_BYTES_MAX) ended.resolve();
  });
  for (const event of ["end", "error", "close"]) response.on(event, () => ended.resolve());
  await ended.promise;
  clearTimeout(timer);
  response.removeAllListeners("data");
  // PostgreSQL stores no NUL.
  return excerpt.toString("utf8").replaceAll("\0", "\u{fffd}");
}

/** Says what an error of the client means to the webhook's owner; others are what they are. */
function describe(error: Error): Error {
  const code = "code" in error ? String(error.code) : "";
  if (code === "ABORT_ERR") return new DeliveryError("timeout");
  if (code === "ECONNRESET") return new DeliveryError("connection_closed");
  if (code === "HPE_HEADER_OVERFLOW")
    return new DeliveryError("response_invalid", "The headers are too long.");
  return code.startsWith("HPE_") ? new DeliveryError("response_invalid") : error;
}

// Finds the addresses of a receiver. Every address that its name resolves to is checked, and the
// connection is made to an address that was checked: a name that resolves to another one a moment
// later leads nowhere else.

/** Why an attempt gets no response; code and message are for the webhook's owner. */
export class DeliveryError extends Error {
  override name = "DeliveryError";

  constructor(
    readonly code: DeliveryErrorCode,
    message: string = DELIVERY_ERRORS[code],
  ) {
    super(message);
  }
}

/** Returns the addresses of a host name; throws when there are none. */
export type Resolve = (host: string) => Promise<string[]>;

/** Where to connect to, and the URL with the name for TLS and `Host`. */
type Receiver = { address: string; port: number; url: URL };

const TIMEOUT_MS = 2_000;

/** Resolves by `servers` (`address` or `address:port`), or as the system does if empty. */
export function resolveBy(servers: readonly string[]): Resolve {
  if (servers.length === 0)
    return async (host) => (await lookup(host, { all: true })).map(({ address }) => address);
  return async (host) => {
    const resolver = freshResolver(servers, TIMEOUT_MS);
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    return answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  };
}

/** Families of addresses; IPv4 first, as more hosts lack a way to the other one. */
const FAMILIES = [4, 6];

/**
 * Returns the receiver at its first address of each family, of which this host may reach only one.
 * Throws a {@link DeliveryError} when one of its addresses is not allowed: a name with a public and
 * a private address is an attempt to reach the private one.
 */
export async function findReceivers(
  url: URL,
  rules: ReceiverRules,
  resolve: Resolve,
): Promise<Receiver[]> {
  const port = portOf(url);
  if (!rules.isPortAllowed(port))
    throw new DeliveryError("port_not_allowed", `Port ${port} may not be used.`);
  const host = bareHost(url);
  const addresses = isIP(host) === 0 ? await resolveName(host, resolve) : [host];
  if (addresses.length === 0) throw new DeliveryError("host_not_found");
  if (!addresses.every((each) => rules.isAddressAllowed(each)))
    throw new DeliveryError("address_not_public");
  return FAMILIES.flatMap((family) => addresses.find((each) => isIP(each) === family) ?? []).map(
    (address) => ({ address, port, url }),
  );
}

/** The host of a URL, an IPv6 address without brackets. */
const bareHost = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, "");

async function resolveName(host: string, resolve: Resolve): Promise<string[]> {
  try {
    return await resolve(host);
  } catch {
    return [];
  }
}

/**
 * Maximum connections to one address; and to those of webhooks that have not been successful, which
 * may be anybody's: the address of someone who asked for nothing.
 */
const PROVEN_MAX = 50;
const UNPROVEN_MAX = 25;

/** No attempt was made: too many connections to the receiver's address are open. */
export class AddressBusy extends Error {
  override name = "AddressBusy";
}

/** Connections that a worker has to each receiving address, for all webhooks of all accounts. */
export class Connections {
  readonly #open = new KeyCounts();

  /** Runs work with a connection to an address; throws {@link AddressBusy} if it has too many. */
  async run<T>(address: string, isProven: boolean, work: () => Promise<T>): Promise<T> {
    // The others do not take the places of webhooks that are known to work.
    const key = `${isProven} ${addressGroups(address).network}`;
    if (this.#open.of(key) >= (isProven ? PROVEN_MAX : UNPROVEN_MAX)) throw new AddressBusy();
    this.#open.add(key, 1);
    try {
      return await work();
    } finally {
      this.#open.add(key, -1);
    }
  }
}
