/**
 * A TCP proxy that can be cut, and that can delay what passes, to simulate a network between two
 * processes.
 */
import type { Socket } from "bun";

export type TcpProxy = {
  port: number;
  /** Bytes that have passed, to the port and from it. */
  passed(): { to: number; from: number };
  /** Closes every connection and rejects new ones. */
  cut(): void;
  mend(): void;
  /** Loses what comes from the port, until connections are cut. */
  loseAnswers(): void;
  stop(): void;
};

type Peer = { direction: "to" | "from"; other: Socket<Peer> | undefined; pending: Buffer[] };

/** Replaces host and port of a URL, keeping user and password. */
export function replaceHost(url: string, hostname: string, port: number): string {
  const { protocol, username, password } = new URL(url);
  return `${protocol}//${username}:${password}@${hostname}:${port}`;
}

/**
 * Forwards connections from an address of this machine to `port` on loopback. What is sent arrives
 * `delayMs` later, in each direction.
 */
export function startTcpProxy(port: number, hostname = "127.0.0.1", delayMs = 0): TcpProxy {
  const open = new Set<Socket<Peer>>();
  const passed = { to: 0, from: 0 };
  let connected = true;
  let losesAnswers = false;

  function forward({ other, pending }: Peer, data: Buffer): void {
    if (other === undefined) pending.push(data);
    else send(other, data);
  }

  const handlers = {
    data(socket: Socket<Peer>, data: Buffer) {
      if (losesAnswers && socket.data.direction === "from") return;
      passed[socket.data.direction] += data.length;
      // Bun reuses the buffer. Timers of one delay fire in the order in which they were set.
      const copy = Buffer.from(data);
      if (delayMs === 0) forward(socket.data, copy);
      else setTimeout(() => forward(socket.data, copy), delayMs);
    },
    drain(socket: Socket<Peer>) {
      const { pending } = socket.data;
      for (const part of pending.splice(0)) send(socket, part);
    },
    close(socket: Socket<Peer>) {
      open.delete(socket);
      setTimeout(() => socket.data?.other?.end(), delayMs);
    },
    error: () => undefined,
  };

  const listener = Bun.listen<Peer>({
    hostname,
    port: 0,
    socket: {
      ...handlers,
      open(socket) {
        socket.data = { direction: "to", other: undefined, pending: [] };
        if (!connected) {
          socket.terminate();
          return;
        }
        open.add(socket);
        void Bun.connect<Peer>({
          hostname: "127.0.0.1",
          port,
          data: { direction: "from", other: socket, pending: [] },
          socket: {
            ...handlers,
            open(target) {
              open.add(target);
              const pending = socket.data.pending.splice(0);
              socket.data.other = target;
              for (const part of pending) send(target, part);
            },
          },
        }).catch(() => socket.end());
      },
    },
  });

  return {
    port: listener.port,
    passed: () => ({ ...passed }),
    cut() {
      connected = false;
      losesAnswers = false;
      for (const socket of open) socket.terminate();
    },
    mend: () => void (connected = true),
    loseAnswers: () => void (losesAnswers = true),
    stop: () => listener.stop(true),
  };
}

/** Writes data, or queues what the socket does not accept until it drains. */
function send(socket: Socket<Peer>, data: Buffer): void {
  const { pending } = socket.data;
  const written = pending.length > 0 ? 0 : Math.max(0, socket.write(data));
  if (written < data.length) pending.push(Buffer.from(data.subarray(written)));
}
