/**
 * A TCP proxy that can be cut, and that can delay what passes, to simulate a network between two
 * processes.
 */
import type { Socket } from "bun";

type Peer = { direction: "to" | "from"; other: Socket<Peer> | undefined; pending: Buffer[] };

/** Replaces host and port of a URL, keeping user and password. */
export function replaceHost(url: string, hostname: string, port: number): string {
  const { protocol, username, password } = new URL(url);
  return `${protocol}//${username}:${password}@${hostname}:${port}`;
}

export class TcpProxy {
  readonly #port: number;
  readonly #delayMs: number;
  readonly #open = new Set<Socket<Peer>>();
  readonly #passed = { to: 0, from: 0 };
  readonly #listener: Bun.TCPSocketListener<Peer>;
  #connected = true;
  #losesAnswers = false;

  readonly #handlers = {
    data: (socket: Socket<Peer>, data: Buffer) => {
      if (this.#losesAnswers && socket.data.direction === "from") return;
      this.#passed[socket.data.direction] += data.length;
      // Bun reuses the buffer. Timers of one delay fire in the order in which they were set.
      const copy = Buffer.from(data);
      if (this.#delayMs === 0) forward(socket.data, copy);
      else setTimeout(() => forward(socket.data, copy), this.#delayMs);
    },
    drain: sendPending,
    close: (socket: Socket<Peer>) => {
      this.#open.delete(socket);
      setTimeout(() => socket.data?.other?.end(), this.#delayMs);
    },
    error: () => undefined,
  };

  /**
   * Forwards connections from an address of this machine to `port` on loopback. What is sent
   * arrives `delayMs` later, in each direction.
   */
  constructor(port: number, hostname = "127.0.0.1", delayMs = 0) {
    this.#port = port;
    this.#delayMs = delayMs;
    this.#listener = Bun.listen<Peer>({
      hostname,
      port: 0,
      socket: { ...this.#handlers, open: (socket) => this.#accept(socket) },
    });
  }

  get port(): number {
    return this.#listener.port;
  }

  /** Bytes that have passed, to the port and from it. */
  passed(): { to: number; from: number } {
    return { ...this.#passed };
  }

  /** Closes every connection and rejects new ones. */
  cut(): void {
    this.#connected = false;
    this.#losesAnswers = false;
    for (const socket of this.#open) socket.terminate();
  }

  mend(): void {
    this.#connected = true;
  }

  /** Loses what comes from the port, until connections are cut. */
  loseAnswers(): void {
    this.#losesAnswers = true;
  }

  stop(): void {
    this.#listener.stop(true);
  }

  #accept(socket: Socket<Peer>): void {
    socket.data = { direction: "to", other: undefined, pending: [] };
    if (!this.#connected) {
      socket.terminate();
      return;
    }
    this.#open.add(socket);
    void Bun.connect<Peer>({
      hostname: "127.0.0.1",
      port: this.#port,
      data: { direction: "from", other: socket, pending: [] },
      socket: {
        ...this.#handlers,
        open: (target) => {
          this.#open.add(target);
          const pending = socket.data.pending.splice(0);
          socket.data.other = target;
          for (const part of pending) send(target, part);
        },
      },
    }).catch(() => socket.end());
  }
}

function forward({ other, pending }: Peer, data: Buffer): void {
  if (other === undefined) pending.push(data);
  else send(other, data);
}

function sendPending(socket: Socket<Peer>): void {
  for (const part of socket.data.pending.splice(0)) send(socket, part);
}

/** Writes data, or queues what the socket does not accept until it drains. */
function send(socket: Socket<Peer>, data: Buffer): void {
  const { pending } = socket.data;
  const written = pending.length > 0 ? 0 : Math.max(0, socket.write(data));
  if (written < data.length) pending.push(Buffer.from(data.subarray(written)));
}
