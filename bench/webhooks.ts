/**
 * `bun run bench:webhooks [EVENTS] [WEBHOOKS] [RATE]`: events (2,000), so many a second (50), to
 * webhooks (10), of which one fails three times out of ten, one is dead for the first half, one
 * takes seconds, and one never responds. How long a healthy one waits for its first attempt, in
 * which order events of a link arrive, and what a delivery costs the worker; and how long changes
 * of links and redirects take beside it, compared with the same events without any webhook. All is
 * on this machine.
 */
import * as z from "zod";

import { postgresPool } from "../api/postgres.ts";
import { decodeId, encodeId, newUuid, type Uuid } from "../shared/ids.ts";
import { createAccount, UNLIMITED } from "../test/harness/admin.ts";
import { call } from "../test/harness/api.ts";
import { readCpu } from "../test/harness/process-usage.ts";
import { atLeast, atMost, publish, quantile, round, type Target } from "../test/harness/report.ts";
import { startStack } from "../test/harness/stack.ts";
import { type Figures, PayingClient } from "./budgets/paying-client.ts";
import { type Kind, type ReceiverReport, startReceivers } from "./webhooks/receivers.ts";

const [EVENTS = 2_000, WEBHOOKS = 10, EVENTS_PER_SECOND = 50] = process.argv.slice(2).map(Number);

/** Links that the events are about. */
const LINKS = 200;

/** Events without webhooks, for comparison. */
const EVENTS_BEFORE = Math.min(EVENTS, 6_000);

/** Longest time without an event that a live webhook has not had before. */
const STUCK_MS = 120_000;

/**
 * After the events, the time between two times at which what waits for an incomplete webhook is
 * made due: those that fail three times in a row would wait for minutes and hours.
 */
const RESUME_MS = 5_000;

/** By how much webhooks may delay others: what two runs without any differ by. */
const NOISE = 1.3;
const NOISE_MS = 5;

const KINDS: readonly Kind[] = ["flaky", "dead at first", "slow", "silent"];

const webhookSchema = z.object({ id: z.string() });

const kinds = Array.from({ length: WEBHOOKS }, (_, i) => KINDS[i] ?? "healthy");
const isLive = (kind: Kind | undefined): boolean => kind !== "silent" && kind !== "slow";

await using stack = await startStack();
const account = await createAccount(stack, "enterprise", UNLIMITED);
const accountId = decodeId("acct", account.id) ?? newUuid();
// Changes and redirects are those of an account without webhooks.
await using neighbour = await PayingClient.start(stack, { redirects: 20, changes: 100 });
const sql = postgresPool(stack.info().database_url, 4);
const recorded: { id: string; linkId: Uuid; at: number }[] = [];

const before = await measure(EVENTS_BEFORE, () => undefined);
recorded.length = 0;
const receivers = await startReceivers(kinds);
const webhookIds: string[] = [];
for (const url of receivers.urls) {
  const created = await send("POST", "/v1/webhooks", { url, events: ["*"] });
  webhookIds.push(webhookSchema.parse(created).id);
}
const startedAt = performance.now();
const cpuBefore = readCpu(Number(stack.info().pids.worker));
const beside = await measure(EVENTS, (i) => {
  if (i === Math.floor(EVENTS / 2)) receivers.reachHalf();
});
await waitUntilDelivered();
const cpuMicros = readCpu(Number(stack.info().pids.worker)) - cpuBefore;
const seconds = (performance.now() - startedAt) / 1_000;
report(await receivers.report());
receivers.stop();
await sql.end();

/** Records events at their rate, and measures changes of links and redirects meanwhile. */
function measure(events: number, onEvent: (i: number) => void): Promise<Figures> {
  return neighbour.measure(async () => {
    const links = Array.from({ length: LINKS }, () => newUuid());
    const startedAt = performance.now();
    for (let i = 0; i < events; i++) {
      const wait = startedAt + (i * 1_000) / EVENTS_PER_SECOND - performance.now();
      if (wait > 0) await Bun.sleep(wait);
      await record(links[i % LINKS] ?? newUuid());
      onEvent(i);
    }
  });
}

async function record(linkId: Uuid): Promise<void> {
  const id = newUuid();
  const data = { link: { id: encodeId("link", linkId), title: "x".repeat(200) } };
  await sql`
    insert into events (id, account_id, mode, type, object_id, link_id, data, actor)
    values (${id}, ${accountId}, 'live', 'link.updated', ${linkId}, ${linkId}, ${sql.json(data)},
            '{"type":"system"}')`;
  recorded.push({ id: encodeId("event", id), linkId, at: Date.now() });
}

/** Waits for the live webhooks, as long as there is progress. */
async function waitUntilDelivered(): Promise<void> {
  let [last, since, resumedAt] = [-1, performance.now(), performance.now()];
  while (performance.now() - since < STUCK_MS) {
    const counts = await receivers.count();
    const incomplete = webhookIds.filter((_, i) => isLive(kinds[i]) && counts[i] !== EVENTS);
    if (incomplete.length === 0) return;
    const sum = counts.reduce((total, count, i) => total + (isLive(kinds[i]) ? count : 0), 0);
    if (sum > last) [last, since] = [sum, performance.now()];
    if (performance.now() - resumedAt > RESUME_MS) {
      for (const id of incomplete)
        for (const status of ["paused", "active"])
          await send("PATCH", `/v1/webhooks/${id}`, { status });
      resumedAt = performance.now();
    }
    await Bun.sleep(200);
  }
}

async function send(method: string, path: string, body: object): Promise<unknown> {
  const response = await call(stack.info().api_url + path, { method, key: account.key, body });
  if (response.status >= 300) throw new Error(`${method} ${path}: ${response.status}`);
  return response.body;
}

/** Events that arrived, for the first time, after a later one of the same link. */
function countDisordered({ accepted }: ReceiverReport): number {
  const places = new Map(recorded.map(({ id, linkId }, place) => [id, { place, linkId }]));
  const last = new Map<Uuid, number>();
  let disordered = 0;
  for (const id of new Set(accepted)) {
    const { place = 0, linkId = "" } = places.get(id) ?? {};
    if (place < (last.get(linkId) ?? -1)) disordered += 1;
    else last.set(linkId, place);
  }
  return disordered;
}

function firstAttemptP99({ firstSeen }: ReceiverReport): number {
  const times = new Map(recorded.map(({ id, at }) => [id, at]));
  return round(
    quantile(
      firstSeen.map(([id, at]) => at - (times.get(id) ?? at)),
      0.99,
    ),
  );
}

function report(reports: readonly ReceiverReport[]): void {
  const rows = reports.map((receiver) => ({
    what: receiver.kind,
    events: new Set(receiver.accepted).size,
    duplicates: receiver.accepted.length - new Set(receiver.accepted).size,
    disordered: countDisordered(receiver),
    "p99 to the first attempt, ms": firstAttemptP99(receiver),
  }));
  const delivered = reports.reduce((sum, { accepted }) => sum + accepted.length, 0);
  const live = reports.filter(({ kind }) => isLive(kind));
  const healthy = reports.filter(({ kind }) => kind === "healthy");
  publish({
    name: "webhooks",

    rows: [
      ...rows,
      { what: "worker's CPU per delivery, µs", events: round(cpuMicros / delivered) },
      { what: "deliveries a second, with those repeated", events: round(delivered / seconds) },
      ...describeNeighbours(),
    ],
    targets: [
      atLeast(
        "deliveries for a second of the worker's CPU",
        (1_000_000 * delivered) / cpuMicros,
        1_000,
      ),
      atMost(
        "events that a live webhook did not get",
        live.reduce((sum, { accepted }) => sum + EVENTS - new Set(accepted).size, 0),
        0,
      ),
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
      withinNoise("changes"),
      withinNoise("redirects"),
      atMost("changes and redirects that failed", before.failures + beside.failures, 0),
    ],
  });
}

function describeNeighbours() {
  return (["changes", "redirects"] as const).map((name) => ({
    what: name,
    "p50 without, ms": round(quantile(before[name], 0.5)),
    "p50 with, ms": round(quantile(beside[name], 0.5)),
    "p99 without, ms": round(quantile(before[name], 0.99)),
    "p99 with, ms": round(quantile(beside[name], 0.99)),
  }));
}

function withinNoise(name: "changes" | "redirects"): Target {
  const without = quantile(before[name], 0.99);
  const bound = Math.max(without * NOISE, without + NOISE_MS);
  return atMost(`p99 of ${name} beside webhooks, ms`, quantile(beside[name], 0.99), bound);
}
