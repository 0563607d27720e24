/** The end of a connection's turn: its next requests are read, once those have been that have waited for longer. */
import { type Client, hasMore } from "./connection.ts";

/** How much of a turn of the event loop connections get together whose next requests have arrived already. */
const WAITING_MS = 5;

/**
 * Ends the turns of connections that had one: at once, unless their next requests have arrived. Those wait for each other,
 * so that clients which pipeline take time from each other, not from those who send one request at a time. Returns
 * whether some still wait: then it must be called again, after others have had a turn.
 */
type EndTurns = (sockets: readonly Client[]) => boolean;

/** `onEnd` is called with each connection whose turn ends. */
export function createEndTurns(onEnd: (socket: Client) => void): EndTurns {
  /** The one that waits for longest first. */
  const waiting = new Set<Client>();

  return (sockets) => {
    for (const socket of sockets) {
      if (hasMore(socket.data)) waiting.add(socket);
      else onEnd(socket);
    }
    if (waiting.size === 0) return false;
    const endMs = performance.now() + WAITING_MS;
    for (const socket of waiting) {
      waiting.delete(socket);
      onEnd(socket);
      if (performance.now() >= endMs) break;
    }
    return waiting.size > 0;
  };
}
