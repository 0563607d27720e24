/** A TCP proxy that can be cut, to simulate a network failure between two processes. */
import type { Socket } from "bun";

export type TcpProxy = {
  port: number;
  /** Closes every connection and rejects new ones. */
  cut(): void;
  mend(): void;
  stop(): void;
};

type Peer = { other: Socket<Peer> | undefined; pending: Buffer[] };

/** Replaces host and port of a URL, keeping user and password. */
export function replaceHost(url: string, hostname: string, port: number): string {
  const { protocol, username, password } = new URL(url);
  return `${protocol}//${username}:${password}@${hostname}:${port}`;
}

/** Forwards connections from an address of this machine to `port` on loopback. */
export function startTcpProxy(port: number, hostname = "127.0.0.1"): TcpProxy {
  const open = new Set<Socket<Peer>>();
  let connected = true;

  const handlers = {
    data(socket: Socket<Peer>, data: Buffer) {
      const { other, pending } = socket.data;
      if (other === undefined) pending.push(Buffer.from(data));
      else send(other, data);
    },
    drain(socket: Socket<Peer>) {
      const { pending } = socket.data;
      for (const part of pending.splice(0)) send(socket, part);
    },
    close(socket: Socket<Peer>) {
      open.delete(socket);
      socket.data?.other?.end();
    },
    error: () => undefined,
  };

  const listener = Bun.listen<Peer>({
    hostname,
    port: 0,
    socket: {
      ...handlers,
      open(socket) {
        socket.data = { other: undefined, pending: [] };
        if (!connected) {
          socket.terminate();
          return;
        }
        open.add(socket);
        void Bun.connect<Peer>({
          hostname: "127.0.0.1",
          port,
          data: { other: socket, pending: [] },
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
    cut() {
      connected = false;
      for (const socket of open) socket.terminate();
    },
    mend: () => void (connected = true),
    stop: () => listener.stop(true),
  };
}

/** Writes data, or queues what the socket does not accept until it drains. */
function send(socket: Socket<Peer>, data: Buffer): void {
  const { pending } = socket.data;
  const written = pending.length > 0 ? 0 : Math.max(0, socket.write(data));
  if (written < data.length) pending.push(Buffer.from(data.subarray(written)));
}
