/**
 * The end of a connection's turn: its next requests are read, once those have been that have waited
 * for longer.
 */
import { type Client, hasMore } from "./connection.ts";

/**
 * How much of a turn of the event loop connections get together whose next requests have arrived
 * already.
 */
const WAITING_MS = 5;

/**
 * Ends the turns of connections that had one: at once, unless their next requests have arrived.
 * Those wait for each other, so that clients which pipeline take time from each other, not from
 * those who send one request at a time; networks take turns, so that none is delayed by how many
 * connections another has. Returns whether some still wait: then it must be called again, after
 * others have had a turn.
 */
type EndTurns = (sockets: readonly Client[]) => boolean;

/** `onEnd` is called with each connection whose turn ends. */
export function createEndTurns(onEnd: (socket: Client) => void): EndTurns {
  const waiting = createRotation();

  return (sockets) => {
    for (const socket of sockets) {
      if (hasMore(socket.data)) waiting.add(socket);
      else onEnd(socket);
    }
    // As nearly always: the clock costs more than all of the above.
    if (waiting.isEmpty()) return false;
    const endMs = performance.now() + WAITING_MS;
    for (let socket = waiting.next(); socket !== undefined; socket = waiting.next()) {
      onEnd(socket);
      if (performance.now() >= endMs) break;
    }
    return !waiting.isEmpty();
  };
}

/** A network; a connection that counts for none, which is that of a proxy, stands for itself. */
type Group = string | Client;

/**
 * Connections that wait: networks in turn, and of a network the connection first that waits for
 * longest.
 */
function createRotation() {
  /** The group whose turn is next comes first. */
  const groups = new Map<Group, Set<Client>>();

  return {
    isEmpty: () => groups.size === 0,
    add(socket: Client): void {
      const group = socket.data.groups?.network ?? socket;
      const sockets = groups.get(group);
      if (sockets === undefined) groups.set(group, new Set([socket]));
      else sockets.add(socket);
    },
    /** Takes the next connection. */
    next(): Client | undefined {
      const [first] = groups;
      if (first === undefined) return undefined;
      const [group, sockets] = first;
      const [socket] = sockets;
      groups.delete(group);
      if (socket === undefined) return undefined;
      sockets.delete(socket);
      if (sockets.size > 0) groups.set(group, sockets);
      return socket;
    },
  };
}
