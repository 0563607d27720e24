/** A TCP relay that can be cut: what a network does to a process, and nothing else does. */
import type { Socket } from "bun";

export type Relay = {
  port: number;
  /** Ends every connection and takes no new one. */
  cut(): void;
  mend(): void;
  stop(): void;
};

type End = { other: Socket<End> | undefined; waiting: Buffer[] };

/** Relays connections at an address of this machine to `port` on loopback. */
export function startRelay(port: number, hostname = "127.0.0.1"): Relay {
  const open = new Set<Socket<End>>();
  let whole = true;

  const pass = {
    data(socket: Socket<End>, data: Buffer) {
      const { other, waiting } = socket.data;
      if (other === undefined) waiting.push(Buffer.from(data));
      else send(other, data);
    },
    drain(socket: Socket<End>) {
      const { waiting } = socket.data;
      for (const part of waiting.splice(0)) send(socket, part);
    },
    close(socket: Socket<End>) {
      open.delete(socket);
      socket.data?.other?.end();
    },
    error: () => undefined,
  };

  const listener = Bun.listen<End>({
    hostname,
    port: 0,
    socket: {
      ...pass,
      open(socket) {
        socket.data = { other: undefined, waiting: [] };
        if (!whole) {
          socket.terminate();
          return;
        }
        open.add(socket);
        void Bun.connect<End>({
          hostname: "127.0.0.1",
          port,
          data: { other: socket, waiting: [] },
          socket: {
            ...pass,
            open(target) {
              open.add(target);
              const waiting = socket.data.waiting.splice(0);
              socket.data.other = target;
              for (const part of waiting) send(target, part);
            },
          },
        }).catch(() => socket.end());
      },
    },
  });

  return {
    port: listener.port,
    cut() {
      whole = false;
      for (const socket of open) socket.terminate();
    },
    mend: () => void (whole = true),
    stop: () => listener.stop(true),
  };
}

/** Sends, or keeps what the other end does not take yet for when it does. */
function send(socket: Socket<End>, data: Buffer): void {
  const { waiting } = socket.data;
  const written = waiting.length > 0 ? 0 : Math.max(0, socket.write(data));
  if (written < data.length) waiting.push(Buffer.from(data.subarray(written)));
}
