/**
 * Goal: sums of failed requests arrive once, however often they are sent, and an outage keeps few
 * of them in memory.
 */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import {
  type FailureReport,
  failureReport,
  FAILURES_SUBJECT,
  REPORTED_ALIASES_MAX,
  REPORTED_DOMAINS_MAX,
  REPORTED_LINKS_MAX,
} from "../../shared/contracts/failures.ts";
import { newUuid } from "../../shared/ids.ts";
import { processLog } from "../../shared/log.ts";
import { NatsClient } from "../../shared/nats.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { forFile } from "../../test/harness/for-file.ts";
import { startNats } from "../../test/harness/nats.ts";
import { FailureCounts, FailureReporter } from "./reporter.ts";

const QUARTER_MS = 900_000;

/** So many that each has fewer aliases than a report has of one. */
const DOMAINS = 50;

const server = await forFile(startNats());

/** A reporter, and what arrives of it; `isStored` decides which reports are acknowledged. */
async function start(isStored: (report: FailureReport) => boolean, intervalMs = 20) {
  const log = processLog("redirector", "silent");
  const nats = new NatsClient(server.url, "redirector", log);
  const worker = await server.connect();
  const arrived: FailureReport[] = [];
  worker.subscribe(FAILURES_SUBJECT, {
    callback: (_, message) => {
      const report = failureReport.parse(message.json());
      arrived.push(report);
      if (isStored(report)) message.respond(report.id);
    },
  });
  await worker.flush();
  let now = 10 * QUARTER_MS;
  const reporter = new FailureReporter(nats, intervalMs, log, () => now);
  return {
    reporter,
    arrived,
    advance: (ms: number) => void (now += ms),
    async [Symbol.asyncDispose]() {
      await reporter.stop();
      await nats.close();
      await worker.close();
    },
  };
}

const failureOf = (link_id: string) => ({
  account_id: link_id,
  mode: "live" as const,
  domain: "",
  link_id,
  reason: "expired" as const,
});

const sumOf = (reports: Iterable<FailureReport>): number =>
  [...reports]
    .flatMap(({ links, domains }) => [...links, ...domains])
    .reduce((sum, { requests }) => sum + requests, 0);

test("a report is sent again, unchanged, until it is stored, and then the next one", async () => {
  let isUp = false;
  await using started = await start(() => isUp);
  const { reporter, arrived, advance } = started;
  reporter.countUnknownAlias("go.example.com", "sale");
  await eventually(async () => expect(arrived.length).toBeGreaterThan(2));
  reporter.countLink(failureOf(newUuid()));
  advance(QUARTER_MS);
  reporter.countUnknownAlias("go.example.com", "sale");
  await eventually(async () => expect(reporter.stats().pending).toBe(2));
  isUp = true;
  await eventually(async () =>
    expect(reporter.stats()).toEqual({ pending: 0, entries: 0, dropped: 0 }),
  );
  const byId = new Map(arrived.map((report) => [report.id, report]));
  for (const report of arrived) expect(report).toEqual(byId.get(report.id) ?? report);
  expect([...byId.values()].map(({ bucket }) => bucket)).toEqual([9_000, 9_000, 9_900]);
  expect(sumOf(byId.values())).toBe(3);
});

test("links beyond those of one report are in the next, and in an outage the oldest reports are dropped", async () => {
  let isUp = false;
  await using started = await start(() => isUp);
  const { reporter, arrived } = started;
  const count = 18 * REPORTED_LINKS_MAX;
  for (let i = 0; i < count; i++) reporter.countLink(failureOf(newUuid()));
  const { pending, dropped } = reporter.stats();
  expect(pending).toBe(16);
  expect(dropped).toBe(REPORTED_LINKS_MAX);
  isUp = true;
  await eventually(async () => {
    const stored = new Map(arrived.map((report) => [report.id, report]));
    expect(sumOf(stored.values()) + reporter.stats().dropped).toBe(count);
  });
});

/** A host name of the greatest length. */
const longest = (i: number): string => `${i}`.padStart(5, "0").padEnd(260, "x");

describe("the sums of failed requests", () => {
  test("of a domain are exact in a flood of made-up aliases, and an alias that is asked for often keeps its name", () => {
    const counts = new FailureCounts();
    for (let i = 0; i < 100_000; i++) {
      counts.addUnknownAlias("go.example.com", `made-up-${i}`);
      if (i % 50 === 0) counts.addUnknownAlias("go.example.com", "sale");
      if (counts.entries > 202) throw new Error("More names are held than there is room for.");
    }
    counts.addUnknownAlias("quiet.example.com", "once");
    const { domains, aliases } = counts.drain();
    expect(domains).toEqual([
      { domain: "go.example.com", requests: 102_000 },
      { domain: "quiet.example.com", requests: 1 },
    ]);
    // What was asked for before the name stayed is not counted under it.
    expect(aliases).toEqual([
      { domain: "go.example.com", alias: "sale", requests: expect.any(Number) },
      { domain: "quiet.example.com", alias: "once", requests: 1 },
    ]);
    expect(aliases[0]?.requests).toBeGreaterThan(1_900);
    expect(aliases[0]?.requests).toBeLessThanOrEqual(2_000);
  });

  test("never count more under names than their domain has, whatever is asked for", () => {
    const name = fc.integer({ min: 0, max: 400 }).map((n) => `a${n}`);
    fc.assert(
      fc.property(fc.array(name, { minLength: 1_000, maxLength: 2_000 }), (names) => {
        const counts = new FailureCounts();
        for (const alias of names) counts.addUnknownAlias("d", alias);
        const { domains, aliases } = counts.drain();
        expect(domains[0]?.requests ?? 0).toBe(names.length);
        for (const { alias, requests } of aliases)
          expect(requests).toBeLessThanOrEqual(names.filter((other) => other === alias).length);
      }),
      { numRuns: 20 },
    );
  });

  test("of more unknown aliases than a report has are those with the most requests", () => {
    const counts = new FailureCounts();
    for (let i = 0; i <= REPORTED_ALIASES_MAX; i++)
      for (let n = i === 0 ? 1 : 2; n > 0; n--)
        counts.addUnknownAlias(`d${i % DOMAINS}.example`, `alias-${i}`);
    const requests = counts.drain().aliases.map((alias) => alias.requests);
    expect(requests).toEqual(Array<number>(REPORTED_ALIASES_MAX).fill(2));
  });

  test("have room for so many links and domains, and the largest report is less than 1 MiB", () => {
    const counts = new FailureCounts();
    for (let i = 0; i < REPORTED_LINKS_MAX; i++)
      expect(counts.addLink({ ...failureOf(newUuid()), domain: longest(i) })).toBe(true);
    expect(counts.addLink(failureOf(newUuid()))).toBe(false);
    for (let i = 0; i < REPORTED_DOMAINS_MAX; i++)
      for (let k = 0; k < 2; k++)
        expect(counts.addUnknownAlias(longest(i), `${k}`.padStart(64, "a"))).toBe(true);
    expect(counts.addUnknownAlias("one.more", "a")).toBe(false);
    expect(counts.total).toBe(REPORTED_LINKS_MAX + 2 * REPORTED_DOMAINS_MAX);
    const report = failureReport.parse({ id: newUuid(), bucket: 0, ...counts.drain() });
    expect(report.aliases).toHaveLength(REPORTED_ALIASES_MAX);
    expect(JSON.stringify(report).length).toBeLessThan(1024 ** 2);
    expect(counts.total).toBe(0);
    expect(counts.drain()).toEqual({ links: [], domains: [], aliases: [] });
  });
});

test("what is left at the stop is sent at once, also while an answer is waited for", async () => {
  let isUp = false;
  await using started = await start(() => isUp, 2_000);
  const { reporter, arrived } = started;
  reporter.countUnknownAlias("go.example.com", "sale");
  await eventually(async () => expect(arrived.length).toBeGreaterThan(0));
  isUp = true;
  await reporter.stop();
  expect(reporter.stats().pending).toBe(0);
});
