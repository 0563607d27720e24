import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import {
  failureReport,
  REPORTED_ALIASES_MAX,
  REPORTED_DOMAINS_MAX,
  REPORTED_LINKS_MAX,
} from "../../shared/contracts/failures.ts";
import { newUuid } from "../../shared/ids.ts";
import { FailureCounts } from "./reporter.ts";

const failureOf = (link_id: string) => ({
  account_id: link_id,
  mode: "live" as const,
  domain: "",
  link_id,
  reason: "expired" as const,
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
