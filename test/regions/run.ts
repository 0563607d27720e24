/**
 * The test of two regions: what crosses between them when all is well, and what goes on without it.
 */
import { expect } from "bun:test";

import { createClient } from "../../clients/typescript/src/index.ts";
import { FAILURES_SUBJECT } from "../../shared/contracts/failures.ts";
import { newUuid } from "../../shared/ids.ts";
import { decodeEntry } from "../../shared/links-log/entry.ts";
import { manifestSubject, SNAPSHOTS_STREAM } from "../../shared/links-log/snapshot-stream.ts";
import { LINK_LOG_STREAM, LINK_LOG_SUBJECT } from "../../shared/links-log/tail.ts";
import { createAccount } from "../harness/admin.ts";
import { call, callOnce } from "../harness/api.ts";
import {
  BULK_LIMITS,
  type BulkLinks,
  createBulkLinks,
  LINKS_CHANGED,
  LINKS_MORE,
} from "../harness/bulk-links.ts";
import { eventually } from "../harness/eventually.ts";
import type { NatsProgram } from "../harness/nats-versions.ts";
import type { ExtraProcess } from "../harness/processes.ts";
import { startTwoRegions, type TwoRegions } from "./system.ts";

const RECOVERY_MS = 60_000;

/** Between two rounds of requests while the region is cut off. */
const PAUSE_MS = 200;

const LINKS = 12;
/** Rounds of requests for all links. */
const HITS = 100;
const MISSES = 200;

/**
 * The most bytes that may come from the hub for each request: less than the smallest message about
 * a link. What comes besides, heartbeats of the log, of the streams and of the connection, is a few
 * hundred bytes a second.
 */
const BYTES_PER_REQUEST_MAX = 50;
const BYTES_PER_SECOND_MAX = 2_000;

export type RegionsOptions = {
  program: NatsProgram;
  cutMs: number;
  /** Links made by bulk before the cut. */
  links: number;
  log: (line: string) => void;
};

/** Runs the test; throws when a region does not behave as docs/regions.md says. */
export async function runRegions({
  program,
  cutMs,
  links: count,
  log,
}: RegionsOptions): Promise<void> {
  await using system = await startTwoRegions(program);
  const calls = await createCalls(system);
  const first = await system.startFarRedirector();
  const links = await calls.create(LINKS);
  const others = await calls.create(MISSES);
  await calls.expectMirrored();
  // The links have crossed, and were counted.
  expect(system.passed().from).toBeGreaterThan((LINKS + MISSES) * BYTES_PER_REQUEST_MAX);
  // A redirector has in memory what was published since its start, so this one has none of these
  // links.
  const second = await system.startFarRedirector();
  const asked = others.splice(0, MISSES / 2);
  await calls.measure(second, "misses, which the mirror answers", log, asked);
  const bulk = await createLinksByBulk(system, [first, second], log);
  await bulk.prepare(count);
  await calls.expectMirrored();
  for (const far of [first, second])
    await eventually(() => calls.expectNow(far, links, original), RECOVERY_MS);
  await calls.measure(first, "hits", log, Array.from({ length: HITS }, () => links).flat());
  await expectSeparate(system);

  const cutAt = performance.now();
  system.host.cut();
  const [changed, removed] = links;
  if (changed === undefined || removed === undefined) throw new Error("There must be links.");
  await calls.update(changed, "https://example.com/changed");
  await calls.remove(removed);
  await bulk.create(LINKS_MORE);
  await bulk.change(LINKS_CHANGED);
  while (performance.now() - cutAt < cutMs) {
    for (const far of [first, second]) await calls.expectNow(far, links, original);
    await Bun.sleep(PAUSE_MS);
  }
  // Links that nobody in the region has asked for yet.
  await calls.expectNow(second, others, original);
  for (const far of [first, second]) await expectAged(far, cutMs);
  system.host.mend();
  const mended = performance.now();
  for (const far of [first, second])
    await eventually(
      () =>
        calls.expectNow(far, links, (link) =>
          link === changed
            ? "302 https://example.com/changed"
            : link === removed
              ? "404"
              : original(link),
        ),
      RECOVERY_MS,
    );
  log(`changes had arrived ${seconds(mended)} s after the regions were connected again`);
  await bulk.expectCurrent("the regions were connected again");
  await bulk.expectConsumers();
  await calls.expectCounted();
  log(`all clicks were counted after ${seconds(mended)} s`);
  await calls.expectFailuresCounted(first);
  await expectSnapshot(system, (third) => calls.expectNow(third, others, original));
  for (const nats of [system.far, system.hub])
    await eventually(() => system.region(nats, "check"), RECOVERY_MS);
}

/** A host without links gets a snapshot that the hub has to make first, as nobody has one. */
async function expectSnapshot(
  system: TwoRegions,
  expectRight: (third: ExtraProcess) => Promise<void>,
): Promise<void> {
  for (const nats of [system.hub, system.far]) {
    const operator = await nats.connect("operator");
    await (await operator.jetstreamManager()).streams.purge(SNAPSHOTS_STREAM);
    await operator.close();
  }
  const third = await system.startFarRedirector();
  await eventually(() => expectRight(third), RECOVERY_MS);
}

/** Links of another account, which redirectors of the far region follow. */
async function createLinksByBulk(
  { stack, far }: TwoRegions,
  redirectors: readonly ExtraProcess[],
  log: (line: string) => void,
): Promise<BulkLinks> {
  const { key } = await createAccount(stack, "enterprise", BULK_LIMITS);
  return createBulkLinks({
    apis: () => [stack.info().api_url],
    key,
    redirectors: () => redirectors.map(({ url }) => url),
    connectNats: () => far.connect("operator"),
    isMirrored: true,
    log,
  });
}

const seconds = (since: number): string => ((performance.now() - since) / 1_000).toFixed(1);

type Link = { id: string; alias: string; index: number };

const original = ({ index }: Link): string => `302 https://example.com/${index}`;

async function createCalls({ stack, hub, far, passed }: TwoRegions) {
  const { key } = await createAccount(stack, "enterprise", UNLIMITED);
  const client = createClient({ baseUrl: stack.info().api_url, apiKey: key });
  const clicks = new Map<string, number>();
  const removed = new Set<string>();

  async function follow(url: string, { id, alias }: Link): Promise<string> {
    const { status, headers } = await call(`${url}/${alias}`);
    if (status === 302) clicks.set(id, (clicks.get(id) ?? 0) + 1);
    return `${status} ${headers.get("location") ?? ""}`.trim();
  }

  return {
    async create(count: number): Promise<Link[]> {
      const created: Link[] = [];
      for (let index = 0; index < count; index++) {
        const { id, alias } = await client.links.create({ url: `https://example.com/${index}` });
        created.push({ id, alias, index });
      }
      return created;
    },
    update: ({ id }: Link, url: string) => client.links.update(id, { url }),
    async remove({ id }: Link): Promise<void> {
      await client.links.delete(id);
      removed.add(id);
    },

    /** A redirector answers like this now. */
    async expectNow(
      { url }: ExtraProcess,
      links: readonly Link[],
      expected: (link: Link) => string,
    ): Promise<void> {
      for (const link of links) expect(await follow(url, link)).toBe(expected(link));
    },

    /**
     * A failed request in the far region is counted in the hub, which says so to the redirector.
     */
    async expectFailuresCounted({ url, metricsUrl }: ExtraProcess): Promise<void> {
      const { id, alias } = await client.links.create({ url: "https://example.com/" });
      await client.links.update(id, { disabled: true });
      await eventually(async () => {
        expect((await callOnce(`${url}/${alias}`)).status).toBe(404);
        const { summary } = await client.analytics.failures({ link_id: id });
        expect(summary.disabled).toBeGreaterThan(0);
      }, RECOVERY_MS);
      await eventually(async () => {
        const metrics = await (await fetch(`${metricsUrl}/metrics`)).text();
        expect(metrics).toContain("shorthop_redirector_failure_reports_pending 0");
      }, RECOVERY_MS);
    },

    /** The mirror has all that the hub has. */
    expectMirrored: () =>
      eventually(async () => {
        const [there, here] = await Promise.all([lastSequence(hub), lastSequence(far)]);
        expect(here).toBeGreaterThanOrEqual(there - HEARTBEATS_UNDERWAY_MAX);
      }, RECOVERY_MS),

    /** Times requests to a far redirector, and checks that they need nothing from the hub. */
    async measure(
      { url }: ExtraProcess,
      what: string,
      log: (line: string) => void,
      links: readonly Link[],
    ): Promise<void> {
      const times: number[] = [];
      const [before, startedAt] = [passed(), performance.now()];
      for (const link of links) {
        const sentAt = performance.now();
        expect(await follow(url, link)).toBe(original(link));
        times.push(performance.now() - sentAt);
      }
      const elapsed = (performance.now() - startedAt) / 1_000;
      const bytes = passed().from - before.from;
      const sorted = times.toSorted((a, b) => a - b);
      const at = (share: number) =>
        (sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(2);
      log(
        `${links.length} ${what}: median ${at(0.5)} ms, p99 ${at(0.99)} ms; ` +
          `${bytes} bytes came from the hub in ${elapsed.toFixed(2)} s`,
      );
      expect(bytes).toBeLessThan(
        links.length * BYTES_PER_REQUEST_MAX + elapsed * BYTES_PER_SECOND_MAX,
      );
    },

    /** Every redirect was counted, once. */
    expectCounted: () =>
      eventually(async () => {
        for (const [id, count] of clicks)
          if (!removed.has(id)) expect((await client.links.get(id)).clicks).toBe(count);
      }, RECOVERY_MS),
  };
}

const UNLIMITED = { minute: 100_000, burst: 100_000, endpoints: { "POST /v1/links": 100_000 } };

/** A far redirector is ready, and tells how old its links are. */
async function expectAged({ metricsUrl }: ExtraProcess, atLeastMs: number): Promise<void> {
  const { status, body } = await callOnce(`${metricsUrl}/readyz`);
  expect(status).toBe(200);
  if (atLeastMs > WARNED_AFTER_MS)
    expect(JSON.stringify(body)).toMatch(/"links_feed":"ok; last confirmed \d+ s ago"/);
  const metrics = String((await callOnce(`${metricsUrl}/metrics`)).body);
  const [, age] = /^shorthop_redirector_feed_age_seconds (\S+)$/m.exec(metrics) ?? [];
  expect(Number(age) * 1_000).toBeGreaterThan(atLeastMs - HEARTBEAT_UNDERWAY_MS);
}

/** Between two requests for positions a heartbeat may arrive in the hub. */
const HEARTBEATS_UNDERWAY_MAX = 1;

/** A heartbeat may arrive just after the cut; on a busy machine the cut itself takes a moment. */
const HEARTBEAT_UNDERWAY_MS = 3_000;

/** `/readyz` warns of a feed of this age. */
const WARNED_AFTER_MS = 35_000;

async function lastSequence(nats: TwoRegions["hub"]): Promise<number> {
  const connection = await nats.connect("operator");
  try {
    const { streams } = await connection.jetstreamManager();
    return (await streams.info(LINK_LOG_STREAM)).state.last_seq;
  } finally {
    await connection.close();
  }
}

/** A message that would be part of a snapshot. */
const STOLEN = manifestSubject("stolen");

/**
 * A region can neither change what the hub has, nor does either take the other's messages unasked.
 */
async function expectSeparate({ hub, far, stack }: TwoRegions): Promise<void> {
  const there = await hub.connect("operator");
  const here = await far.connect("operator");
  try {
    const { streams } = await there.jetstreamManager();
    const before = await streams.info(LINK_LOG_STREAM);
    here.publish(STOLEN, "{}");
    here.publish(LINK_LOG_SUBJECT, "{}");
    for (const request of [
      "STREAM.PURGE.LINK_LOG",
      "STREAM.PURGE.LINK_SNAPSHOTS",
      "STREAM.DELETE.CLICKS",
      "STREAM.INFO.CLICKS",
    ]) {
      const refused = here.request(`$JS.hub.API.${request}`, "{}", { timeout: 500 });
      expect(refused).rejects.toThrow();
      await refused.catch(() => undefined);
    }
    const redirector = await far.connect("redirector");
    // The hub's worker takes reports, and replies at no subject of a stream of links.
    const report = { id: newUuid(), bucket: 900, links: [], domains: [], aliases: [] };
    redirector.publish(FAILURES_SUBJECT, JSON.stringify(report), { reply: STOLEN });
    await eventually(async () => {
      const metrics = await (await fetch(`${stack.info().worker_metrics_url}/metrics`)).text();
      expect(metrics).toContain("shorthop_worker_replies_refused_total 1");
    }, RECOVERY_MS);
    const after = await streams.info(SNAPSHOTS_STREAM, { subjects_filter: STOLEN });
    expect(after.state.subjects).toBeUndefined();
    const { state } = await streams.info(LINK_LOG_STREAM);
    for (let seq = before.state.last_seq; seq <= state.last_seq; seq++) {
      const { data } = await streams.getMessage(LINK_LOG_STREAM, { seq });
      expect(decodeEntry(data)).toBeDefined();
    }
    const creation = redirector.request("$JS.API.STREAM.CREATE.LINK_LOG", "{}", { timeout: 500 });
    expect(creation).rejects.toThrow(/permission/i);
    await creation.catch(() => undefined);
    await redirector.close();
  } finally {
    await here.close();
    await there.close();
  }
}
