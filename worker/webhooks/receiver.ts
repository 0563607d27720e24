/**
 * Finds the address of a receiver. Every address that its name resolves to is checked, and the
 * connection is made to the address that was checked: a name that resolves to another one a moment
 * later leads nowhere else.
 */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";

import { addressGroups } from "../../shared/addresses.ts";
import { DELIVERY_ERRORS, type DeliveryErrorCode } from "../../shared/contracts/webhook-schemas.ts";
import { freshResolver } from "../../shared/hosts.ts";
import { portOf, type ReceiverRules } from "../../shared/webhooks/variables.ts";

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
export type Receiver = { address: string; port: number; url: URL };

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

/**
 * Returns a receiver with its first address. Throws a {@link DeliveryError} when one of its
 * addresses is not allowed: a name with a public and a private address is an attempt to reach the
 * private one.
 */
export async function findReceiver(
  url: URL,
  rules: ReceiverRules,
  resolve: Resolve,
): Promise<Receiver> {
  const port = portOf(url);
  if (!rules.isPortAllowed(port))
    throw new DeliveryError("port_not_allowed", `Port ${port} may not be used.`);
  const host = bareHost(url);
  const addresses = isIP(host) === 0 ? await resolveName(host, resolve) : [host];
  const [address] = addresses;
  if (address === undefined) throw new DeliveryError("host_not_found");
  if (!addresses.every((each) => rules.isAddressAllowed(each)))
    throw new DeliveryError("address_not_public");
  return { address, port, url };
}

/** The host of a URL, an IPv6 address without brackets. */
export const bareHost = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, "");

async function resolveName(host: string, resolve: Resolve): Promise<string[]> {
  try {
    return await resolve(host);
  } catch {
    return [];
  }
}

/**
 * Most connections to one address; and to those of webhooks that have not been successful, which
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
  readonly #open = new Map<string, number>();

  /** Runs work with a connection to an address; throws {@link AddressBusy} if it has too many. */
  async run<T>(address: string, isProven: boolean, work: () => Promise<T>): Promise<T> {
    // The others do not take the places of webhooks that are known to work.
    const key = `${isProven} ${addressGroups(address).network}`;
    const open = this.#open.get(key) ?? 0;
    if (open >= (isProven ? PROVEN_MAX : UNPROVEN_MAX)) throw new AddressBusy();
    this.#open.set(key, open + 1);
    try {
      return await work();
    } finally {
      const left = (this.#open.get(key) ?? 0) - 1;
      if (left === 0) this.#open.delete(key);
      else this.#open.set(key, left);
    }
  }
}
