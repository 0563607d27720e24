/** What holds between two regions: what crosses, what does not, and what redirectors say. */
import { expect } from "bun:test";

import * as z from "zod";

import { FAILURES_SUBJECT } from "../../../shared/contracts/failures.ts";
import { newUuid } from "../../../shared/ids.ts";
import { decodeEntry } from "../../../shared/links-log/entries.ts";
import { manifestSubject, SNAPSHOTS_STREAM } from "../../../shared/links-log/snapshots.ts";
import { LINK_LOG_STREAM, LINK_LOG_SUBJECT } from "../../../shared/links-log/tail.ts";
import { call, callOnce, linkSchema } from "../../harness/api.ts";
import { eventually } from "../../harness/eventually.ts";
import type { ExtraProcess } from "../../harness/processes.ts";
import { readMetric } from "../../harness/prometheus.ts";
import type { Traffic } from "../loads/traffic.ts";
import type { Check } from "../parts.ts";
import { withJetStream } from "../topologies/topology.ts";
import type { TwoRegions } from "../topologies/two-regions.ts";

const RECOVERY_MS = 60_000;

/** Links that a redirector is asked for, and requests for each. */
const LINKS = 100;
const HITS = 12;

/**
 * The most bytes that may come from the hub for each request: less than the smallest message about
 * a link. What comes besides, heartbeats of the log, of the streams and of the connection, is a few
 * hundred bytes a second.
 */
const BYTES_PER_REQUEST_MAX = 50;
const BYTES_PER_SECOND_MAX = 2_000;

export type RegionLink = { id: string; alias: string; index: number };

export const original = ({ index }: RegionLink): string => `302 https://example.com/${index}`;

/** Creates links in the hub, and waits until the far region has them. */
export async function createRegionLinks(
  regions: TwoRegions,
  key: string,
  count: number,
): Promise<RegionLink[]> {
  const links: RegionLink[] = [];
  for (let index = 0; index < count; index++) {
    const body = { url: `https://example.com/${index}` };
    const created = await call(`${regions.apis()[0]}/v1/links`, { key, body });
    const { id, alias } = linkSchema.parse(created.body);
    links.push({ id, alias, index });
  }
  await regions.expectMirrored();
  return links;
}

/** A redirector answers like this now. */
export async function expectNow(
  { url }: ExtraProcess,
  links: readonly RegionLink[],
  expected: (link: RegionLink) => string,
): Promise<void> {
  for (const link of links) {
    const { status, headers } = await call(`${url}/${link.alias}`);
    expect(`${status} ${headers.get("location") ?? ""}`.trim()).toBe(expected(link));
  }
}

/**
 * Redirectors of the far region answer for links from their mirror, whether they have them in
 * memory or not: nothing comes from the hub for that. Starts a second one.
 */
export async function expectLocalAnswers(
  regions: TwoRegions,
  log: (line: string) => void,
): Promise<void> {
  const key = await regions.createKey();
  const before = regions.passed();
  const links = await createRegionLinks(regions, key, LINKS);
  // The links have crossed, and were counted.
  expect(regions.passed().from - before.from).toBeGreaterThan(LINKS * BYTES_PER_REQUEST_MAX);
  const [first] = regions.farRedirectors();
  if (first === undefined) throw new Error("There is no redirector.");
  // It has in memory what was published since its start, and so none of these links.
  const second = await regions.startFarRedirector();
  log(await measure(regions, second, "misses, which the mirror answers", links));
  await eventually(() => expectNow(first, links, original), RECOVERY_MS);
  const hits = Array.from({ length: HITS }, () => links).flat();
  log(await measure(regions, first, "hits", hits));
}

/** Checks that requests to a far redirector need nothing from the hub. */
async function measure(
  regions: TwoRegions,
  redirector: ExtraProcess,
  what: string,
  links: readonly RegionLink[],
): Promise<string> {
  const [before, startedAt] = [regions.passed(), performance.now()];
  await expectNow(redirector, links, original);
  const seconds = (performance.now() - startedAt) / 1_000;
  const bytes = regions.passed().from - before.from;
  expect(bytes).toBeLessThan(links.length * BYTES_PER_REQUEST_MAX + seconds * BYTES_PER_SECOND_MAX);
  const { length } = links;
  return `${length} ${what}: ${bytes} bytes came from the hub in ${seconds.toFixed(2)} s`;
}

/** `/readyz` warns of a feed of this age. */
const WARNED_AFTER_MS = 35_000;

/** A heartbeat may arrive just after the cut; on a busy machine the cut itself takes a moment. */
const HEARTBEAT_UNDERWAY_MS = 3_000;

/** A far redirector is ready, and tells how old its links are. */
export async function expectAged({ metricsUrl }: ExtraProcess, atLeastMs: number): Promise<void> {
  const { status, body } = await callOnce(`${metricsUrl}/readyz`);
  expect(status).toBe(200);
  if (atLeastMs > WARNED_AFTER_MS)
    expect(JSON.stringify(body)).toMatch(/"links_feed":"ok; last confirmed \d+ s ago"/);
  const age = await readMetric(metricsUrl, "shorthop_redirector_feed_age_seconds");
  expect(age * 1_000).toBeGreaterThan(atLeastMs - HEARTBEAT_UNDERWAY_MS);
}

export const REGION_CHECKS: readonly Check<TwoRegions, Traffic>[] = [
  {
    name: "failed requests are counted in the hub",
    verify: ({ topology }) => countFailures(topology),
  },
  { name: "a host without links gets a snapshot", verify: ({ topology }) => getSnapshot(topology) },
  { name: "regions are separate", verify: ({ topology }) => expectSeparate(topology) },
  {
    name: "`region check` finds nothing",
    verify: ({ topology }) => eventually(() => topology.expectRunning(), RECOVERY_MS),
  },
];

const failuresSchema = z.object({ summary: z.object({ disabled: z.int() }) });

/** A failed request in the far region is counted in the hub, which says so to the redirector. */
async function countFailures(regions: TwoRegions): Promise<void> {
  const [{ url, metricsUrl } = { url: "", metricsUrl: "" }] = regions.farRedirectors();
  const key = await regions.createKey();
  const [link] = await createRegionLinks(regions, key, 1);
  const api = `${regions.apis()[0]}/v1`;
  await call(`${api}/links/${link?.id}`, { key, method: "PATCH", body: { disabled: true } });
  await eventually(async () => {
    expect((await callOnce(`${url}/${link?.alias}`)).status).toBe(404);
    const { body } = await call(`${api}/analytics/failures?link_id=${link?.id}`, { key });
    expect(failuresSchema.parse(body).summary.disabled).toBeGreaterThan(0);
  }, RECOVERY_MS);
  await eventually(async () => {
    expect(await readMetric(metricsUrl, "shorthop_redirector_failure_reports_pending")).toBe(0);
  }, RECOVERY_MS);
}

/** The hub has to make the snapshot first, as nobody has one. */
async function getSnapshot(regions: TwoRegions): Promise<void> {
  const links = await createRegionLinks(regions, await regions.createKey(), LINKS);
  for (const nats of [regions.hub, regions.far])
    await withJetStream(nats.connect("operator"), ({ streams }) => streams.purge(SNAPSHOTS_STREAM));
  const third = await regions.startFarRedirector();
  await eventually(() => expectNow(third, links, original), RECOVERY_MS);
  await regions.stopLastRedirector();
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
      const { worker_metrics_url } = stack.info();
      expect(await readMetric(worker_metrics_url, "shorthop_worker_replies_refused_total")).toBe(1);
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
