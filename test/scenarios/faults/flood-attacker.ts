/**
 * A process that floods a server with connections from many addresses until its standard input
 * ends, and then prints an {@link AttackReport}. Its argument is an {@link AttackTask} as JSON.
 */
import type { Socket } from "bun";

export type AttackTask = {
  /**
   * `idle` opens connections and sends nothing; `slow` sends one byte of a request per second;
   * `new` opens as many a second as it can: of two, one sends a request and the other nothing.
   */
  kind: "idle" | "slow" | "new";
  port: number;
  /** Connections open at a time; with `new` the others are closed, the oldest first. */
  connections: number;
  /** Connections opened per second at most. */
  perSecond: number;
  /** The index of the first address. */
  firstAddress: number;
};

export type AttackReport = {
  opened: number;
  /** Connections that could not be opened. */
  refused: number;
  /** Connections that the server closed. */
  closed: number;
  /** The most that were open at a time. */
  openMax: number;
  seconds: number;
};

/** Connections that are being opened at a time; more would only wait in the kernel. */
const OPENING_MAX = 1_000;

const TICK_MS = 10;

const REQUEST = Buffer.from(
  "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
);

/** Connections of one address; far below `CONNECTIONS_PER_ADDRESS_MAX`. */
const PER_ADDRESS = 50;

/** Returns the address of a flood's `index`-th connection: one of 127.1.0.0 to 127.254.255.255. */
function floodAddress(index: number): string {
  const n = Math.floor(index / PER_ADDRESS) % (254 * 65_536);
  return `127.${1 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}`;
}

const task = JSON.parse(process.argv[2] ?? "") as AttackTask;
const report: AttackReport = { opened: 0, refused: 0, closed: 0, openMax: 0, seconds: 0 };
const open = new Set<Socket<{ ended: boolean }>>();
let opening = 0;
let started = 0;

async function openOne(): Promise<void> {
  const index = started++;
  opening++;
  const options = {
    hostname: "127.0.0.1",
    port: task.port,
    // Supported by Bun, but missing in its types.
    localAddress: floodAddress(task.firstAddress + index),
    data: { ended: false },
    socket: {
      open(socket: Socket<{ ended: boolean }>) {
        report.opened++;
        open.add(socket);
        report.openMax = Math.max(report.openMax, open.size);
        if (task.kind === "new" && index % 2 === 0) socket.write(REQUEST);
        if (task.kind === "new") closeOldest();
      },
      data: () => undefined,
      close(socket: Socket<{ ended: boolean }>) {
        open.delete(socket);
        if (!socket.data.ended) report.closed++;
      },
      error: () => undefined,
    },
  };
  try {
    await Bun.connect(options);
  } catch {
    report.refused++;
  } finally {
    opening--;
  }
}

function closeOldest(): void {
  for (const socket of open) {
    if (open.size <= task.connections) return;
    socket.data.ended = true;
    socket.terminate();
  }
}

const beganMs = performance.now();
let due = 0;
setInterval(() => {
  due = Math.min(due + (task.perSecond * TICK_MS) / 1_000, task.perSecond);
  const wanted = task.kind === "new" ? Infinity : task.connections - open.size - opening;
  while (due >= 1 && wanted > 0 && opening < OPENING_MAX) {
    due--;
    if (task.kind !== "new" && open.size + opening >= task.connections) break;
    void openOne();
  }
}, TICK_MS);
if (task.kind === "slow") {
  setInterval(() => {
    for (const socket of open) socket.write("G");
  }, 1_000);
}

await new Response(Bun.stdin.stream()).text();
report.seconds = (performance.now() - beganMs) / 1_000;
console.log(JSON.stringify(report));
process.exit(0);
