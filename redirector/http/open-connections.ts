/**
 * The open connections, within the bounds on all of them and on those of one client. An error
 * closes only the connection in which it occurred.
 */
import { type AddressGroups, addressGroups } from "../../shared/addresses.ts";
import { TrustedProxies } from "../../shared/client-address.ts";
import { KeyCounts } from "../../shared/local-limits.ts";
import { LimitedLog, type Log } from "../../shared/log.ts";
import type { Config } from "../config.ts";
import { type Client, Connection, isBusy } from "./connection.ts";
import type { InputBuffers } from "./input-buffers.ts";

/** Maximum connections that get a second chance before one is closed for a new one. */
const EVICTION_ATTEMPTS_MAX = 8;

/** The cap of a site as a multiple of that of one of its networks: see {@link AddressGroups}. */
export const SITE_CONNECTIONS_FACTOR = 4;

/** Too many in total, of its network, or of its site; an invalid PROXY header. */
type RejectionReason = "total" | "network" | "site" | "proxy_header";

/**
 * Where an error occurred: in the socket, in the handler of a request, in a response that does not
 * fit into the write buffer, in the commit of clicks, or in this code.
 */
export type ConnectionErrorReason = "socket" | "request" | "response" | "commit" | "internal";

export class OpenConnections {
  readonly #config: Config;
  readonly #inputs: InputBuffers;
  readonly #failureLog: LimitedLog;
  readonly #caps: ConnectionCaps;
  readonly #proxies: TrustedProxies;
  readonly #open = new Set<Client>();
  readonly #rejected: Record<RejectionReason, number> = {
    total: 0,
    network: 0,
    site: 0,
    proxy_header: 0,
  };
  readonly #errors: Record<ConnectionErrorReason, number> = {
    socket: 0,
    request: 0,
    response: 0,
    commit: 0,
    internal: 0,
  };
  #evicted = 0;

  constructor(config: Config, inputs: InputBuffers, log: Log) {
    this.#config = config;
    this.#inputs = inputs;
    this.#failureLog = new LimitedLog(log, "connection_failed");
    this.#proxies = new TrustedProxies(config.TRUSTED_PROXIES);
    this.#caps = new ConnectionCaps(config.CONNECTIONS_PER_ADDRESS_MAX, (address) =>
      this.#proxies.trusts(address),
    );
  }

  /** Adds a new connection, or closes it at once; `seconds` is the time of the timeout clock. */
  add(socket: Client, seconds: number): void {
    const { PROXY_PROTOCOL: hasProxyHeader, CONNECTIONS_MAX: connectionsMax } = this.#config;
    const peer = this.#proxies.clientOf(socket.remoteAddress, null);
    socket.data = new Connection(peer, hasProxyHeader, seconds);
    if (this.#open.size >= connectionsMax && !this.#evictIdle()) this.reject(socket, "total");
    else if (hasProxyHeader || this.#countUnderCaps(socket)) this.#open.add(socket);
  }

  /** Sets the client's address, from its proxy; returns false if that is rejected. */
  setClient(socket: Client, address: string): boolean {
    socket.data.peer = this.#proxies.clientOf(address, null);
    return this.#countUnderCaps(socket);
  }

  /** Closes a connection without a response. */
  reject(socket: Client, reason: RejectionReason): void {
    this.#rejected[reason]++;
    socket.terminate();
  }

  /** Counts and logs an error; the caller closes its connection, except for one in `commit`. */
  report(reason: ConnectionErrorReason, error: unknown): void {
    this.#errors[reason]++;
    this.#failureLog.error(reason, error);
  }

  /** Closes a connection at once, after an error that leaves its state unknown. */
  abort(socket: Client, reason: ConnectionErrorReason, error: unknown): void {
    this.report(reason, error);
    this.discard(socket);
    socket.terminate();
  }

  discard(socket: Client): void {
    // A connection that was rejected, or failed before it was open, is not counted.
    if (!this.#open.delete(socket)) return;
    const connection = socket.data;
    connection.closing = true;
    this.#inputs.drop(connection);
    connection.unsent = undefined;
    if (connection.groups !== undefined) this.#caps.release(connection.groups);
    connection.groups = undefined;
  }

  get all(): ReadonlySet<Client> {
    return this.#open;
  }

  get stats() {
    return {
      open: this.#open.size,
      rejected: this.#rejected,
      evicted: this.#evicted,
      errors: this.#errors,
    };
  }

  /** Returns false for a connection that is rejected. */
  #countUnderCaps(socket: Client): boolean {
    const acquired = this.#caps.acquire(socket.data.peer);
    if (typeof acquired === "string") {
      this.reject(socket, acquired);
      return false;
    }
    socket.data.groups = acquired;
    return true;
  }

  /**
   * Closes an idle connection to free a slot; returns false when none of the examined ones is idle.
   */
  #evictIdle(): boolean {
    const victim = findIdle(this.#open);
    if (victim === undefined) return false;
    this.#evicted++;
    this.discard(victim);
    victim.terminate();
    return true;
  }
}

/** The oldest idle connection; those with requests since get a second chance, as in CLOCK. */
function findIdle(open: Set<Client>): Client | undefined {
  let victim: Client | undefined;
  let attempts = 0;
  for (const socket of open) {
    const isIdle = !isBusy(socket.data);
    if (isIdle && !socket.data.used) return socket;
    if (isIdle) victim ??= socket;
    if (++attempts > EVICTION_ATTEMPTS_MAX) break;
    socket.data.used = false;
    open.delete(socket);
    open.add(socket);
  }
  return victim;
}

/** Caps on the connections of one client; uses memory only for clients with open connections. */
export class ConnectionCaps {
  readonly #perNetworkMax: number;
  readonly #isExempt: (address: string) => boolean;
  readonly #networks = new KeyCounts();
  readonly #sites = new KeyCounts();

  /** `isExempt` returns whether an address has no cap: a proxy, which connects for many clients. */
  constructor(perNetworkMax: number, isExempt: (address: string) => boolean) {
    this.#perNetworkMax = perNetworkMax;
    this.#isExempt = isExempt;
  }

  /**
   * Counts a connection of `address`. Returns the groups that count it, to be released when it
   * closes; undefined for an exempt address; a reason when a cap is reached.
   */
  acquire(address: string): AddressGroups | undefined | "network" | "site" {
    if (this.#isExempt(address)) return undefined;
    const groups = addressGroups(address);
    const { network, site } = groups;
    if (this.#networks.of(network) >= this.#perNetworkMax) return "network";
    if (site !== network) {
      if (this.#sites.of(site) >= this.#perNetworkMax * SITE_CONNECTIONS_FACTOR) return "site";
      this.#sites.add(site, 1);
    }
    this.#networks.add(network, 1);
    return groups;
  }

  release({ network, site }: AddressGroups): void {
    this.#networks.add(network, -1);
    if (site !== network) this.#sites.add(site, -1);
  }
}
