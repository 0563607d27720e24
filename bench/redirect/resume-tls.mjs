/**
 * Follows links over TLS 1.3, each on a connection of its own that resumes an earlier session, as
 * browsers do. For Node.js: wrk never resumes, and `openssl s_time` neither sends a request of ours
 * nor says how many were resumed. `node bench/redirect/resume-tls.mjs PORT SECONDS LINKS
 * CONCURRENCY` prints `RESULT requests micros errors p50 p99 resumed`, latencies in microseconds,
 * from connecting to the response.
 */
import { connect } from "node:tls";

const [port = 0, seconds = 1, links = 1, concurrency = 1] = process.argv.slice(2).map(Number);
const FIELDS =
  "Host: localhost\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36\r\n" +
  "Accept-Language: en-US,en;q=0.9,de;q=0.8\r\nReferer: https://news.example.com/articles/today\r\nConnection: close\r\n\r\n";

const latencies = [];
let errors = 0;
let resumed = 0;
let session;

const follow = () =>
  new Promise((resolve) => {
    const started = performance.now();
    const alias = `link${String(1 + Math.floor(Math.random() * links)).padStart(6, "0")}`;
    let answered = false;
    const socket = connect(
      {
        port,
        host: "127.0.0.1",
        servername: "localhost",
        minVersion: "TLSv1.3",
        rejectUnauthorized: false,
        session,
      },
      () => {
        if (socket.isSessionReused()) resumed++;
        socket.write(`GET /${alias} HTTP/1.1\r\n${FIELDS}`);
      },
    );
    socket.on("session", (ticket) => (session = ticket));
    socket.on("data", (data) => {
      if (answered) return;
      answered = true;
      if (!data.toString("latin1").startsWith("HTTP/1.1 302")) errors++;
      latencies.push((performance.now() - started) * 1_000);
    });
    socket.on("error", () => errors++);
    socket.on("close", () => resolve());
  });

const start = performance.now();
const end = start + seconds * 1_000;
await Promise.all(
  Array.from({ length: concurrency }, async () => {
    while (performance.now() < end) await follow();
  }),
);
const micros = Math.round((performance.now() - start) * 1_000);
latencies.sort((a, b) => a - b);
const percentile = (share) => Math.round(latencies[Math.floor(latencies.length * share)] ?? 0);
console.log(
  `RESULT ${latencies.length} ${micros} ${errors} ${percentile(0.5)} ${percentile(0.99)} ${resumed}`,
);
