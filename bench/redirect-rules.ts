/**
 * `bun run bench:redirect-rules [--connections N,N] [--links N] [--seconds N]`: what links with as
 * many rules as they may have cost others. Connections of one address request them in turn, another
 * network's visitor follows a plain link. Server and load are processes of their own; the links are
 * in memory, clicks go nowhere.
 */
import { parseArgs } from "node:util";

import { LinkCache } from "../redirector/cache/link-cache.ts";
import type { ActiveLink } from "../shared/contracts/link-record.ts";
import { decodeLinkRecord, encodeLinkRecord } from "../shared/contracts/link-record.ts";
import type { Condition } from "../shared/contracts/redirect-settings.ts";
import { newUuid } from "../shared/ids.ts";
import { decodeStoredRecord, encodeStoredRecord } from "../shared/links-store/schema.ts";
import { activeLink } from "../test/harness/links-log.ts";
import { redirectorConfig, serveCached } from "../test/harness/redirector-config.ts";
import { quantile } from "../test/harness/report.ts";

/** The visitor of another network, and how often it follows its link. */
const VISITOR_ADDRESS = "127.0.0.2";
const VISITOR_MS = 20;

const { values } = parseArgs({
  options: {
    connections: { type: "string", default: "300,900" },
    links: { type: "string", default: "1500" },
    seconds: { type: "string", default: "10" },
    serve: { type: "boolean", default: false },
  },
});
const links = Number(values.links);

const fiveValues = (of: (k: number) => string): string[] =>
  Array.from({ length: 5 }, (_, k) => of(k));

/** Conditions of which none matches and each is looked at, different for each link. */
function conditionOf(link: number, i: number): Condition {
  return i % 2 === 0
    ? { type: "ip", in: fiveValues((k) => `2001:db8:${link}:${i}:${k}::/80`), not: true }
    : { type: "query", name: `${link}`, in: fiveValues((k) => `${i}.${k}`), not: i % 10 !== 9 };
}

const linkOf = (alias: string, version: number, extras?: ActiveLink["extras"]): ActiveLink => ({
  ...activeLink(alias, version),
  ...(extras === undefined ? {} : { extras }),
});

function serve(): void {
  const cache = new LinkCache(256 * 1024 ** 2);
  const put = (link: ActiveLink): void => {
    const message = encodeLinkRecord(link);
    const record = decodeLinkRecord(message);
    if (record === undefined) throw new Error("The link is malformed.");
    cache.put(decodeStoredRecord(encodeStoredRecord(record, message)));
  };
  put(linkOf("plain", 1));
  for (let link = 0; link < links; link++) {
    const rules = Array.from({ length: 20 }, (_, rule) => ({
      id: newUuid(),
      url: `https://example.com/${rule}`,
      conditions: Array.from({ length: 10 }, (__, i) => conditionOf(link, 10 * rule + i)),
    }));
    put(linkOf(`rules-${link}`, 2 + link, { rules }));
  }
  const config = redirectorConfig({ SHORT_URL: "http://localhost" });
  const server = serveCached(config, cache);
  process.on("message", (question) => {
    if (question === "cpu") process.send?.({ cpu: process.cpuUsage() });
  });
  process.send?.({ port: Number(server.url.port) });
}

/** Follows the links that `next` names one after the other; `onResponse` gets the time of each. */
async function follow(
  port: number,
  address: string,
  next: () => string,
  onResponse: (ms: number) => number,
): Promise<() => void> {
  const request = (): Buffer =>
    Buffer.from(`GET /${next()} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: Mozilla/5.0\r\n\r\n`);
  let sentAt = 0;
  const send = (): void => {
    sentAt = performance.now();
    socket.write(request());
  };
  const { connect } = await import("node:net");
  const socket = connect({ port, host: "127.0.0.1", localAddress: address, noDelay: true });
  await new Promise((resolve) => socket.once("connect", resolve));
  socket.on("data", () => {
    const waitMs = onResponse(performance.now() - sentAt);
    if (waitMs === 0) send();
    else setTimeout(send, waitMs);
  });
  socket.on("error", () => undefined);
  send();
  return () => void socket.destroy();
}

async function measure(connections: number): Promise<void> {
  const port = Promise.withResolvers<number>();
  let cpu = Promise.withResolvers<NodeJS.CpuUsage>();
  const server = Bun.spawn(
    [process.execPath, import.meta.path, "--serve", "--links", values.links],
    {
      stdout: "inherit",
      stderr: "inherit",
      ipc(message: { port?: number; cpu?: NodeJS.CpuUsage }) {
        if (message.port !== undefined) port.resolve(message.port);
        if (message.cpu !== undefined) cpu.resolve(message.cpu);
      },
    },
  );
  const readCpu = async (): Promise<number> => {
    cpu = Promise.withResolvers();
    server.send("cpu");
    const { user, system } = await cpu.promise;
    return user + system;
  };
  const at = await port.promise;
  let link = 0;
  let answered = 0;
  const latencies: number[] = [];
  const closes = [
    ...(await Promise.all(
      Array.from({ length: connections }, () =>
        follow(
          at,
          "127.0.0.1",
          () => `rules-${link++ % links}`,
          () => (answered++, 0),
        ),
      ),
    )),
    await follow(
      at,
      VISITOR_ADDRESS,
      () => "plain",
      (ms) => (latencies.push(ms), VISITOR_MS),
    ),
  ];
  const [cpuBefore, answeredBefore, startedMs] = [await readCpu(), answered, performance.now()];
  latencies.length = 0;
  await Bun.sleep(Number(values.seconds) * 1_000);
  const seconds = (performance.now() - startedMs) / 1_000;
  const count = answered - answeredBefore + latencies.length;
  const micros = ((await readCpu()) - cpuBefore) / count;
  const wait = (part: number): string => quantile(latencies, part).toFixed(1);
  console.log(
    `${connections} connections: ${Math.round(count / seconds)} redirects/s, ${Math.round(micros)} µs of CPU each; ` +
      `the visitor waits p50 ${wait(0.5)}, p99 ${wait(0.99)}, max ${wait(1)} ms (${latencies.length} times)`,
  );
  for (const close of closes) close();
  server.kill();
  await server.exited;
}

if (values.serve) serve();
else for (const connections of values.connections.split(",")) await measure(Number(connections));
