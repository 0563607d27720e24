/**
 * `bun run bench:visitors [--seconds N] [--rounds N] [--variants abcd]`: what a click costs on a
 * connection of its own, as most people's are, in CPU time of our redirector with its journal, of
 * nginx with a buffered log and the same links, and of a constant response by `Bun.listen`, the
 * floor under our server. (a) plain; (b) TLS 1.3, full handshake, ECDSA P-256; (c) TLS 1.3,
 * resumed; (d) plain, three clicks a connection on average. Servers alternate on one core, the load
 * is on the other.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { createCertificates } from "../test/harness/certificates.ts";
import { startNats } from "../test/harness/nats.ts";
import { publish, round, type Target } from "../test/harness/report.ts";
import { BenchLog } from "./redirect/bench-log.ts";
import { generateLinks, publishLinks, warmCache } from "./redirect/links.ts";
import { hasNginx, nginxCommand, nginxVersion } from "./redirect/nginx.ts";
import {
  type Cost,
  costRow,
  LOAD_CORE,
  measureCost,
  medianCost,
  redirectorOf,
  requireWrk,
  type Server,
  withServer,
  wrk,
} from "./redirect/server.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "6" },
    rounds: { type: "string", default: "3" },
    variants: { type: "string", default: "abcd" },
  },
});
const SECONDS = Number(values.seconds);
const ROUNDS = Number(values.rounds);
/**
 * A warm-up counts requests, not seconds: JavaScriptCore compiles code that has run often, which
 * doubles the cost of the first hundred thousand clicks of a process. Kept connections warm up what
 * all loads have in common.
 */
const WARM_UP = { keptRequests: 400_000, requests: 40_000, seconds: 3, loadsMax: 8 };
const CONNECTIONS = 64;
const LINKS = 100_000;

/** Of many new connections some fail. */
const FAILED_SHARE_MAX = 0.001;

requireWrk();
if (!hasNginx()) process.exit(1);

const dir = mkdtempSync(join(tmpdir(), "shorthop-visitors-"));
const tls = createCertificates(dir);
const links = generateLinks(LINKS);

await using nats = await startNats();
await using _ = (await BenchLog.open(nats.url)).keepAlive();
await publishLinks(nats.url, links);

type Variant = { letter: string; name: string; isSecure: boolean; load: Load };
type Load = (port: number, seconds: number) => Promise<number[]>;

const wrkClosing =
  (scheme: string, perConnection: number): Load =>
  (port, seconds) =>
    wrk("close.lua", `${scheme}://127.0.0.1:${port}`, {
      seconds,
      connections: CONNECTIONS,
      args: [String(LINKS), String(perConnection)],
    });

const keep =
  (scheme: string): Load =>
  (port, seconds) =>
    wrk("wrk.lua", `${scheme}://127.0.0.1:${port}`, {
      seconds,
      connections: CONNECTIONS,
      args: [String(LINKS), "uniform"],
    });

/** Repeats a load until it has sent `requests`. */
async function warmUp(port: number, load: Load, requests: number): Promise<void> {
  let sent = 0;
  for (let i = 0; i < WARM_UP.loadsMax && sent < requests; i++) {
    const [more = 0] = await load(port, WARM_UP.seconds);
    sent += more;
  }
}

const ALL_VARIANTS: readonly Variant[] = [
  { letter: "a", name: "plain", isSecure: false, load: wrkClosing("http", 1) },
  { letter: "b", name: "TLS 1.3, full", isSecure: true, load: wrkClosing("https", 1) },
  { letter: "c", name: "TLS 1.3, resumed", isSecure: true, load: resumeSessions },
  { letter: "d", name: "plain, three clicks", isSecure: false, load: wrkClosing("http", 3) },
];
const VARIANTS = ALL_VARIANTS.filter(({ letter }) => values.variants.includes(letter));

const SERVERS = ["redirector", "nginx", "Bun.listen"] as const;
type ServerName = (typeof SERVERS)[number];

const collected = new Map<string, Cost[]>();
const keyOf = (server: ServerName, { letter }: Variant): string => `${letter} ${server}`;

let nextPort = 18_500;
for (let turn = 0; turn < ROUNDS; turn++) {
  for (const server of SERVERS) {
    for (const isSecure of [false, true]) {
      if (VARIANTS.some((variant) => variant.isSecure === isSecure))
        await measureServer(server, isSecure);
    }
  }
}

async function measureServer(server: ServerName, isSecure: boolean): Promise<void> {
  const port = nextPort++;
  await withServer(createServer(server, port, isSecure), async (pid) => {
    if (server === "redirector") await warmCache(port, links, isSecure);
    await warmUp(port, keep(isSecure ? "https" : "http"), WARM_UP.keptRequests);
    for (const variant of VARIANTS) {
      if (variant.isSecure !== isSecure) continue;
      const costs = collected.get(keyOf(server, variant)) ?? [];
      await warmUp(port, variant.load, WARM_UP.requests);
      costs.push(await measureCost(pid, () => variant.load(port, SECONDS), FAILED_SHARE_MAX));
      collected.set(keyOf(server, variant), costs);
    }
  });
}

function createServer(server: ServerName, port: number, isSecure: boolean): Server {
  const own = join(dir, `${server}-${port}`);
  // Each server responds to plain bytes somehow: a TLS server by closing the connection.
  const url = `${isSecure ? "https" : "http"}://127.0.0.1:${port}/${links[0]?.alias}`;
  if (server === "nginx")
    return { command: nginxCommand(own, links, port, true, isSecure ? tls : undefined), url };
  const files = isSecure ? [tls.cert, tls.key] : [];
  if (server === "Bun.listen") {
    const program = [process.execPath, "bench/redirect/constant.ts"];
    return { command: [...program, String(port), ...files], url };
  }
  const env = isSecure ? { TLS_CERT_FILE: tls.cert, TLS_KEY_FILE: tls.key } : {};
  return { ...redirectorOf(nats.url, port, own, env), url };
}

/** Runs the load with resumed sessions; throws if they were not. */
async function resumeSessions(port: number, seconds: number): Promise<number[]> {
  const command = ["taskset", "-c", LOAD_CORE, "node", "bench/redirect/resume-tls.mjs"];
  const child = Bun.spawn([...command, ...[port, seconds, LINKS, CONNECTIONS].map(String)], {
    stdout: "pipe",
  });
  const text = await new Response(child.stdout).text();
  const result = /RESULT ([\d ]+)/.exec(text)?.[1]?.split(" ").map(Number) ?? [];
  const [requests = 0, , , , , resumed = 0] = result;
  // The first connections have no session yet.
  if (resumed < requests - 2 * CONNECTIONS)
    throw new Error(`Only ${resumed} of ${requests} sessions were resumed.`);
  return result;
}

const summarize = (server: ServerName, variant: Variant): Cost =>
  medianCost(collected.get(keyOf(server, variant)) ?? []);

const rows = VARIANTS.flatMap((variant) =>
  SERVERS.map((server) =>
    costRow({ variant: `(${variant.letter}) ${variant.name}`, server }, summarize(server, variant)),
  ),
);

/**
 * The bounds of each variant on the whole process: times nginx's cost, or times the floor's,
 * whichever is higher.
 */
const BOUNDS: Record<string, readonly [number, number]> = {
  a: [1.25, 1.2],
  b: [1.25, 1.1],
  c: [1.25, 1.1],
  d: [1.1, 1.1],
};

const targets = VARIANTS.map((variant): Target => {
  const [ofNginx, ofFloor] = BOUNDS[variant.letter] ?? [1, 1];
  const own = summarize("redirector", variant).micros;
  const nginx = summarize("nginx", variant).micros;
  const floor = summarize("Bun.listen", variant).micros;
  const bound = Math.max(nginx * ofNginx, floor * ofFloor);
  const byFloor = floor * ofFloor > nginx * ofNginx;
  return {
    name: `(${variant.letter}) ${variant.name}: redirector : nginx ${round(own / nginx)}, : floor ${round(own / floor)}`,
    value: round(byFloor ? own / floor : own / nginx),
    target: byFloor ? `<= ${ofFloor} of the floor` : `<= ${ofNginx} of nginx`,
    met: own <= bound,
  };
});
publish({
  name: "visitors",
  versions: { nginx: nginxVersion(), node: nodeVersion() },
  rows,
  targets,
});
rmSync(dir, { recursive: true, force: true });

function nodeVersion(): string {
  return Bun.spawnSync(["node", "--version"]).stdout.toString().trim();
}
