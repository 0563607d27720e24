/** What must be so after faults beside the usual traffic, on any topology. */
import type { Traffic } from "../loads/traffic.ts";
import type { Topology } from "../topologies/topology.ts";
import { expectLedgerComplete, expectNewestTargets } from "./changes.ts";
import { expectEachClickOnce } from "./clicks.ts";

type Run = { topology: Topology; load: Traffic };

/** Every response to a visitor was a redirect, or lost with its redirector. */
const REDIRECTS_WORK = {
  name: "redirects work",
  verify({ load: { redirects } }: Run): Promise<void> {
    if (redirects.failures.size === 0) return Promise.resolve();
    throw new Error(JSON.stringify([...redirects.failures]));
  },
};

/** Old, new and changed links lead where the API says, on every redirector, and none was 404. */
const LINKS_CURRENT = {
  name: "links are current",
  verify: ({ load: { bulk } }: Run): Promise<void> => bulk.expectCurrent("all faults"),
};

/** The links log has one consumer for each links store. */
const ONE_CONSUMER_EACH = {
  name: "one consumer for each host",
  verify: ({ load: { bulk } }: Run): Promise<void> => bulk.expectConsumers(),
};

const NEWEST_TARGETS = {
  name: "newest targets",
  async verify({ topology, load: { redirects, changes } }: Run): Promise<string> {
    await expectNewestTargets(topology, redirects, changes);
    return `${changes.created.length} links created meanwhile, ${changes.unavailable} answers 503`;
  },
};

const EACH_CLICK_ONCE = {
  name: "each click once",
  async verify({ topology, load: { redirects } }: Run): Promise<string> {
    const stored = await expectEachClickOnce(topology, redirects);
    const { redirected, unknown } = redirects.total();
    return `${redirected} redirected, ${unknown} unknown, ${stored} stored`;
  },
};

const LEDGER_COMPLETE = {
  name: "ledger complete",
  async verify({ topology, load: { changes } }: Run): Promise<string> {
    const count = await expectLedgerComplete(topology, changes);
    if (count === 0) throw new Error("Nothing was changed.");
    return `${count} changes of links recorded and delivered`;
  },
};

/**
 * The oldest target that a redirect may lead to, beyond what publishing waited for: a host whose
 * consumer was on the dead server gets another one only when the servers have elected who creates
 * consumers, which takes them some seconds.
 */
const STALENESS_MS_MAX = 10_000;

/** How long faults interrupted what. A target is outdated only while nothing is published. */
export const INTERRUPTIONS_SHORT = {
  name: "interruptions",
  verify({ load: { interruptions } }: Run): Promise<string> {
    const stale = interruptions.filter(
      ({ stalenessMs, publishGapMs }) => stalenessMs > publishGapMs + STALENESS_MS_MAX,
    );
    if (stale.length > 0)
      throw new Error(
        stale.map(({ fault, stalenessMs }) => `${fault}: outdated by ${stalenessMs} ms`).join("; "),
      );
    const gaps = ["redirectGapMs", "writeGapMs", "publishGapMs", "stalenessMs"] as const;
    const described = gaps.map((name) => {
      const sorted = interruptions.map((one) => Math.round(one[name])).toSorted((a, b) => a - b);
      const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)];
      return `${name}: median ${at(0.5)}, 90 % ${at(0.9)}, longest ${at(1)}`;
    });
    return Promise.resolve(described.join("; "));
  },
};

/** All of them, in the order in which they need each other: redirects of checks are clicks. */
export const OF_TRAFFIC = [
  REDIRECTS_WORK,
  LINKS_CURRENT,
  ONE_CONSUMER_EACH,
  NEWEST_TARGETS,
  EACH_CLICK_ONCE,
  LEDGER_COMPLETE,
];
