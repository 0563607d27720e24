/**
 * Open-loop load: sends requests at a fixed rate regardless of responses, and measures each
 * response time from when its request was due, so that a stalled server is charged for every
 * request it delayed (Tene, "coordinated omission"). `bun bench/redirect/open-loop.ts PORT RATE
 * SECONDS LINKS` prints one line of JSON, times in ms.
 */
import type { Socket } from "bun";

const [PORT = 0, RATE = 20_000, SECONDS = 10, LINKS = 1] = process.argv.slice(2).map(Number);
const CONNECTIONS = 64;
const STATUS_LINE = Buffer.from("HTTP/1.1 302");
const DRAIN_MS = 5_000;

const FIELDS =
  "Host: localhost\r\n" +
  "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36\r\n" +
  "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n" +
  "Accept-Language: en-US,en;q=0.9,de;q=0.8\r\nAccept-Encoding: gzip, deflate, br\r\n" +
  "Referer: https://news.example.com/articles/today\r\n\r\n";

/** When a connection's pending requests were due, and the end of the last received chunk. */
type State = { due: number[]; tail: Buffer };

const total = RATE * SECONDS;
const latencies = new Float64Array(total);
let completed = 0;
let closed = 0;

const sockets: Socket<State>[] = [];
for (let i = 0; i < CONNECTIONS; i++) {
  sockets.push(
    await Bun.connect<State>({
      hostname: "127.0.0.1",
      port: PORT,
      data: { due: [], tail: Buffer.alloc(0) },
      socket: {
        data(socket, chunk) {
          const state = socket.data;
          const bytes = Buffer.concat([state.tail, chunk]);
          let at = 0;
          for (
            let found = bytes.indexOf(STATUS_LINE);
            found >= 0;
            found = bytes.indexOf(STATUS_LINE, at)
          ) {
            at = found + STATUS_LINE.length;
            latencies[completed++] = performance.now() - (state.due.shift() ?? 0);
          }
          state.tail = Buffer.from(
            bytes.subarray(Math.max(at, bytes.length - STATUS_LINE.length + 1)),
          );
        },
        close: () => void closed++,
      },
    }),
  );
}

const start = performance.now();
let sent = 0;
while (sent < total) {
  const now = performance.now();
  for (; sent < total && start + (sent / RATE) * 1_000 <= now; sent++) {
    const socket = sockets[sent % CONNECTIONS];
    const link = String(1 + Math.floor(Math.random() * LINKS)).padStart(6, "0");
    socket?.data.due.push(start + (sent / RATE) * 1_000);
    socket?.write(`GET /link${link} HTTP/1.1\r\n${FIELDS}`);
  }
  await new Promise((resolve) => setImmediate(resolve));
}
const deadline = performance.now() + DRAIN_MS;
while (completed < total && performance.now() < deadline) await Bun.sleep(5);

const sorted = latencies.subarray(0, completed).toSorted();
const percentile = (share: number) =>
  sorted[Math.min(completed - 1, Math.floor(completed * share))] ?? NaN;
console.log(
  JSON.stringify({
    sent: total,
    completed,
    closed,
    p50: percentile(0.5),
    p99: percentile(0.99),
    p999: percentile(0.999),
    max: sorted.at(-1) ?? NaN,
  }),
);
process.exit(0);
