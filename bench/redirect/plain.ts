/**
 * The baseline: a redirect in straightforward code with `Bun.serve`, a Map, a `Response`, and one
 * log line per click buffered to a file. In mode `constant` it serves one static route. `bun
 * bench/redirect/plain.ts MODE LINKS LOG PORT`
 */
import { openSync, readFileSync, writeSync } from "node:fs";

const [mode, linksFile = "", logFile = "", port] = process.argv.slice(2);
const links = new Map(
  readFileSync(linksFile, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line): [string, string] => {
      const [alias = "", destination = ""] = line.split(" ");
      return [alias, destination];
    }),
);
const log = openSync(logFile, "a");
let lines: string[] = [];
const write = () => {
  if (lines.length === 0) return;
  writeSync(log, lines.join(""));
  lines = [];
};
setInterval(write, 100);

const HEADERS = { "cache-control": "private, no-store" };

const options = { port: Number(port), hostname: "127.0.0.1", development: false };

const server =
  mode === "constant"
    ? Bun.serve({
        ...options,
        routes: { "/*": Response.redirect("https://example.com/constant", 302) },
      })
    : Bun.serve({
        ...options,
        fetch(request, server) {
          const { url, headers } = request;
          const alias = url.slice(url.indexOf("/", 8) + 1);
          const destination = links.get(alias);
          if (destination === undefined) return new Response("Not found", { status: 404 });
          const address = server.requestIP(request)?.address ?? "";
          lines.push(
            `${Date.now()} ${alias} ${address} ${headers.get("user-agent")} ${headers.get("referer")} ${headers.get("accept-language")}\n`,
          );
          if (lines.length >= 500) write();
          return new Response(null, {
            status: 302,
            headers: { ...HEADERS, location: destination },
          });
        },
      });
console.log(`listening on ${server.port}`);
