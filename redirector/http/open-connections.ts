/** The open connections, within the bounds on all of them and on those of one client. */
import { type ConnectionCaps, REJECTION_REASONS, type RejectionReason } from "./connection-caps.ts";
import { type Client, createConnection, isBusy } from "./connection.ts";
import type { InputBuffers } from "./input-buffers.ts";

/** Maximum connections that get a second chance before one is closed for a new one. */
const EVICTION_ATTEMPTS_MAX = 8;

export type OpenConnectionsDeps = {
  /** Maximum open connections; a new one beyond it replaces an idle one, or is closed at once. */
  connectionsMax: number;
  /** The caps on connections of one client. */
  caps: ConnectionCaps;
  /** Whether each connection begins with a PROXY header. */
  proxyProtocol: boolean;
  /** Normalizes a peer's address. */
  normalizeAddress: (peer: string) => string;
  inputs: Pick<InputBuffers, "drop">;
};

export type OpenConnections = ReturnType<typeof createOpenConnections>;

export function createOpenConnections(deps: OpenConnectionsDeps) {
  const { connectionsMax, caps, proxyProtocol, normalizeAddress, inputs } = deps;
  const open = new Set<Client>();
  const rejected = emptyCounts(REJECTION_REASONS);
  let evicted = 0;

  function reject(socket: Client, reason: RejectionReason): void {
    rejected[reason]++;
    socket.terminate();
  }

  /**
   * Counts a connection under its client's caps; rejects it and returns false when a cap is
   * reached.
   */
  function countUnderCaps(socket: Client): boolean {
    const acquired = caps.acquire(socket.data.peer);
    if (typeof acquired === "string") {
      reject(socket, acquired);
      return false;
    }
    socket.data.groups = acquired;
    return true;
  }

  /** Discards the state of a closed connection. */
  function discard(socket: Client): void {
    // A connection that was rejected, or failed before it was open, is not counted.
    if (!open.delete(socket)) return;
    const connection = socket.data;
    connection.closing = true;
    inputs.drop(connection);
    connection.unsent = undefined;
    if (connection.groups !== undefined) caps.release(connection.groups);
    connection.groups = undefined;
  }

  /**
   * Closes an idle connection to free a slot; returns false when none of the examined ones is idle.
   */
  function evictIdle(): boolean {
    const victim = findIdle(open);
    if (victim === undefined) return false;
    evicted++;
    discard(victim);
    victim.terminate();
    return true;
  }

  return {
    /** Adds a new connection, or closes it at once; `seconds` is the time of the timeout clock. */
    add(socket: Client, seconds: number): void {
      socket.data = createConnection(
        normalizeAddress(socket.remoteAddress),
        proxyProtocol,
        seconds,
      );
      if (open.size >= connectionsMax && !evictIdle()) reject(socket, "total");
      else if (proxyProtocol || countUnderCaps(socket)) open.add(socket);
    },
    /**
     * Sets the address of the client that a proxy connects for; returns false if that address was
     * rejected.
     */
    setClient(socket: Client, address: string): boolean {
      socket.data.peer = normalizeAddress(address);
      return countUnderCaps(socket);
    },
    reject,
    discard,
    all: (): ReadonlySet<Client> => open,
    stats: () => ({ open: open.size, rejected, evicted }),
  };
}

/**
 * Finds an idle connection to close. The oldest come first. Connections with a request since the
 * last check get a second chance, as in CLOCK.
 */
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

const emptyCounts = <Reason extends string>(reasons: readonly Reason[]): Record<Reason, number> =>
  // The type of Object.fromEntries loses the names of `reasons`.
  Object.fromEntries(reasons.map((reason) => [reason, 0])) as Record<Reason, number>;
