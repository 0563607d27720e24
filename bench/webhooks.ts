/**
 * `bun run bench:webhooks [EVENTS] [WEBHOOKS]`: events (2,000) to so many webhooks (10), of which
 * one fails three times out of ten, one is dead for the first half, one takes seconds, and one
 * never responds. How long a healthy one waits for its first attempt, in which order events of a
 * link arrive, and what a delivery costs in CPU time. Receivers and worker are on this machine.
 */
import { createWebhookService } from "../api/webhooks/service.ts";
import { encodeId, newUuid, type Uuid } from "../shared/ids.ts";
import { createLog } from "../shared/log.ts";
import { createReceiverRules } from "../shared/webhooks/variables.ts";
import { startPostgres } from "../test/harness/postgres.ts";
import { atMost, publish, round, type Target } from "../test/harness/report.ts";
import { startDeliverer } from "../worker/webhooks/deliverer.ts";

const [events = 2_000, count = 10] = process.argv.slice(2).map(Number);

/** Links that the events are about, and events that are recorded a second. */
const LINKS = 200;
const EVENTS_PER_SECOND = 200;

const SLOW_MS = 9_000;
const DEADLINE_MS = 120_000;

const OWN_SECRET = "what secrets are derived from in this benchmark";

const RULES = createReceiverRules({
  WEBHOOK_NETWORKS_ALLOWED: ["127.0.0.0/8"],
  WEBHOOK_PORTS_ALLOWED: ["*"],
});

type Kind = "healthy" | "flaky" | "dead at first" | "slow" | "silent";

const KINDS: readonly Kind[] = ["flaky", "dead at first", "slow", "silent"];

type Receiver = { kind: Kind; url: string; ids: string[]; firstSeen: Map<string, number> };

const recordedAt = new Map<string, number>();
const linkOf = new Map<string, Uuid>();
let half = false;

async function respond({ kind }: Receiver): Promise<Response> {
  if (kind === "silent") return await new Promise<Response>(() => undefined);
  if (kind === "slow") await Bun.sleep(SLOW_MS);
  const fails = kind === "flaky" ? Math.random() < 0.3 : kind === "dead at first" && !half;
  return new Response("", { status: fails ? 500 : 204 });
}

function startReceiver(kind: Kind): Receiver {
  const receiver: Receiver = { kind, url: "", ids: [], firstSeen: new Map() };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 30,
    async fetch(request) {
      const id = request.headers.get("webhook-id") ?? "";
      if (!receiver.firstSeen.has(id)) receiver.firstSeen.set(id, performance.now());
      await request.arrayBuffer();
      const response = await respond(receiver);
      if (response.ok) receiver.ids.push(id);
      return response;
    },
  });
  receiver.url = `http://127.0.0.1:${server.port}/`;
  return receiver;
}

await using postgres = await startPostgres();
const { sql } = postgres;
const owner = { accountId: await postgres.addAccount(), mode: "live" as const };
const webhooks = createWebhookService({ sql, ownSecret: OWN_SECRET, rules: RULES });
const receivers: Receiver[] = [];
for (let i = 0; i < count; i++) {
  const receiver = startReceiver(KINDS[i] ?? "healthy");
  receivers.push(receiver);
  await webhooks.create(owner, newUuid(), { url: receiver.url, events: ["*"] });
}
const deliverer = startDeliverer({
  sql,
  log: createLog("worker", "silent"),
  ownSecret: OWN_SECRET,
  rules: RULES,
  resolve: () => Promise.resolve([]),
  ownHosts: [],
  onAttempt: () => undefined,
});

const links = Array.from({ length: LINKS }, () => newUuid());
const cpuBefore = process.cpuUsage();
const startedAt = performance.now();
for (let i = 0; i < events; i++) {
  half = i > events / 2;
  const wait = startedAt + (i * 1_000) / EVENTS_PER_SECOND - performance.now();
  if (wait > 0) await Bun.sleep(wait);
  await record(links[i % LINKS] ?? newUuid());
}
const live = receivers.filter(({ kind }) => kind !== "silent" && kind !== "slow");
const isDone = () => live.every(({ ids }) => new Set(ids).size === events);
while (!isDone() && performance.now() - startedAt < DEADLINE_MS) await Bun.sleep(100);
const cpu = process.cpuUsage(cpuBefore);
await deliverer.stop();

async function record(linkId: Uuid): Promise<void> {
  const id = newUuid();
  const data = { link: { id: encodeId("link", linkId), title: "x".repeat(200) } };
  await sql`
    insert into events (id, account_id, mode, type, object_id, link_id, data, actor)
    values (${id}, ${owner.accountId}, 'live', 'link.updated', ${linkId}, ${linkId}, ${sql.json(data)},
            '{"type":"system"}')`;
  recordedAt.set(encodeId("event", id), performance.now());
  linkOf.set(encodeId("event", id), linkId);
}

/** Events that arrived, for the first time, after a later one of the same link. */
function countDisordered({ ids }: Receiver): number {
  const order = [...recordedAt.keys()];
  const placeOf = new Map(order.map((id, place) => [id, place]));
  const last = new Map<Uuid, number>();
  let disordered = 0;
  for (const id of new Set(ids)) {
    const place = placeOf.get(id) ?? 0;
    const link = linkOf.get(id) ?? "";
    if (place < (last.get(link) ?? -1)) disordered += 1;
    else last.set(link, place);
  }
  return disordered;
}

function firstAttemptP99({ firstSeen }: Receiver): number {
  const waits = [...firstSeen].map(([id, at]) => at - (recordedAt.get(id) ?? at));
  return waits.toSorted((a, b) => a - b)[Math.floor(waits.length * 0.99)] ?? 0;
}

const delivered = receivers.reduce((sum, { ids }) => sum + ids.length, 0);
const rows = receivers.map((receiver) => ({
  receiver: receiver.kind,
  events: new Set(receiver.ids).size,
  duplicates: receiver.ids.length - new Set(receiver.ids).size,
  disordered: countDisordered(receiver),
  "p99 to the first attempt ms": round(firstAttemptP99(receiver)),
}));
const healthy = receivers.filter(({ kind }) => kind === "healthy");
const missing = live.reduce((sum, { ids }) => sum + events - new Set(ids).size, 0);
const targets: Target[] = [
  atMost("events that a live webhook did not get", missing, 0),
  atMost(
    "events of a link out of order",
    rows.reduce((sum, row) => sum + row.disordered, 0),
    0,
  ),
  atMost(
    "p99 from commit to the first attempt of healthy webhooks, ms",
    Math.max(...healthy.map(firstAttemptP99)),
    1_000,
  ),
];
const cpuMicros = (cpu.user + cpu.system) / Math.max(1, delivered);
publish({
  name: "webhooks",
  versions: { bun: Bun.version },
  rows: [
    ...rows,
    { receiver: "CPU of worker and receivers per delivery, µs", events: round(cpuMicros) },
  ],
  targets,
});
process.exit(0);
