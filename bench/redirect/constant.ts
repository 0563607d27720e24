/**
 * The floor under any server on `Bun.listen`: one constant response to whatever arrives, after
 * which the connection is closed when the client asks for it. `bun bench/redirect/constant.ts PORT
 * [CERT KEY]`.
 */
import type { Socket } from "bun";

const [port = "0", cert, key] = process.argv.slice(2);

const RESPONSE =
  "HTTP/1.1 302 Found\r\nDate: Sun, 22 Nov 2026 00:00:00 GMT\r\nCache-Control: private, no-store\r\nContent-Length: 0\r\n" +
  "Location: https://shop-1.example.com/campaign/1?ref=newsletter&id=7919\r\n";
const KEPT = Buffer.from(`${RESPONSE}Connection: keep-alive\r\n\r\n`);
const CLOSED = Buffer.from(`${RESPONSE}Connection: close\r\n\r\n`);
const CLOSE = Buffer.from("Connection: close");

Bun.listen({
  hostname: "127.0.0.1",
  port: Number(port),
  allowHalfOpen: true,
  ...(cert === undefined || key === undefined
    ? {}
    : { tls: { cert: Bun.file(cert), key: Bun.file(key) } }),
  socket: {
    data(socket: Socket, bytes: Buffer) {
      const close = bytes.includes(CLOSE);
      socket.write(close ? CLOSED : KEPT);
      if (close) socket.end();
    },
    end: (socket: Socket) => void socket.end(),
  },
});
console.log(`listening on ${port}`);
