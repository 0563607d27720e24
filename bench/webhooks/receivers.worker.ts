/**
 * Receivers of the benchmark of webhooks, in a thread of their own: what they cost must not delay
 * those who measure beside them.
 */
import type { Kind, ReceiverReport, ReceiversCommand } from "./receivers.ts";

declare const self: Worker;

const SLOW_MS = 9_000;

/** How often a flaky receiver fails. */
const FAILURES = 0.3;

type Receiver = Omit<ReceiverReport, "firstSeen"> & {
  firstSeen: Map<string, number>;
  /** The accepted ones, each once. */
  events: Set<string>;
};

const receivers: Receiver[] = [];
let isHalf = false;

async function respond(kind: Kind): Promise<Response> {
  if (kind === "silent") return await new Promise<Response>(() => undefined);
  if (kind === "slow") await Bun.sleep(SLOW_MS);
  const fails = kind === "flaky" ? Math.random() < FAILURES : kind === "dead at first" && !isHalf;
  return new Response("", { status: fails ? 500 : 204 });
}

function start(kind: Kind): string {
  const receiver: Receiver = { kind, accepted: [], firstSeen: new Map(), events: new Set() };
  receivers.push(receiver);
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 30,
    async fetch(request) {
      const id = request.headers.get("webhook-id") ?? "";
      if (!receiver.firstSeen.has(id)) receiver.firstSeen.set(id, Date.now());
      await request.arrayBuffer();
      const response = await respond(kind);
      if (!response.ok) return response;
      receiver.accepted.push(id);
      receiver.events.add(id);
      return response;
    },
  });
  return `http://127.0.0.1:${server.port}/`;
}

const report = (): ReceiverReport[] =>
  receivers.map(({ kind, accepted, firstSeen }) => ({ kind, accepted, firstSeen: [...firstSeen] }));

self.addEventListener("message", ({ data }: MessageEvent<ReceiversCommand>): void => {
  if (data.type === "half") isHalf = true;
  else if (data.type === "start") self.postMessage(data.kinds.map(start));
  else if (data.type === "count") self.postMessage(receivers.map(({ events }) => events.size));
  else self.postMessage(report());
});
