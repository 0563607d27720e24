/**
 * Goal: every host ends equal to PostgreSQL, whatever comes back older, damaged or not at all; and
 * until then shows no older state of a link than before, and no 404 for a link that exists. Method:
 * the decisions of the links log in a simulated world, in random histories.
 */
import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { RULES, type Rules, Violation, World } from "../../test/harness/links-log-world.ts";
import { casesOf, LONG } from "../../test/harness/property-runs.ts";
import {
  type Candidate,
  type EntryHeader,
  isCurrent,
  judgeCandidate,
  lacksEntries,
  type Position,
} from "./entries.ts";

/** As many as it takes until each mutation is found, at most. */
const MUTATED_MAX = casesOf(200_000, 20_000);

/** In the short form, a seed with which each is found within some hundred histories. */
const MUTATED_SEED = LONG ? {} : { seed: 17 };

/** Each number is an event: see `World.run`. */
const histories = fc.noBias(
  fc.array(fc.integer({ min: 0, max: 2 ** 31 - 1 }), {
    minLength: 20,
    maxLength: 90,
    size: "max",
  }),
);

function play(events: readonly number[], rules: Rules): void {
  const world = new World(rules);
  for (const event of events) world.run(event);
  world.settle();
}

test("every host ends equal to PostgreSQL, and never shows an older state or a wrong 404", () => {
  const startedAt = performance.now();
  const property = fc.property(histories, (events) => play(events, RULES));
  const details = fc.check(property, { numRuns: casesOf(200_000, 500) });
  print(details.failed ? "a failure" : "no failure", details, startedAt);
  if (details.failed) throw new Error(fc.defaultReportMessage(details));
});

type Ran = { numRuns: number; seed: number };

/** In the long form, says how many histories it took. */
function print(what: string, { numRuns, seed }: Ran, startedAt: number): void {
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  if (LONG) console.log(`${what}: ${numRuns} histories of seed ${seed} in ${seconds} s`);
}

const flat = <At extends Position>(at: At): At => ({ ...at, term: 1 });

const flatStore = (store: Candidate["store"]): Candidate["store"] => ({
  ...store,
  head: flat(store.head),
  written: flat(store.written),
});

const isCurrentByHeartbeat: typeof isCurrent = (store, end) =>
  end !== undefined && end.hash === undefined
    ? isCurrent(store, { ...end, hash: store.head.hash })
    : isCurrent(store, end);

/** What the links log would be without one of its rules. */
const MUTATIONS: Record<string, Partial<Rules>> = {
  "no term": {
    decideStep: (store, entry: EntryHeader) => RULES.decideStep(flatStore(store), flat(entry)),
    isCurrent: (store, end) =>
      isCurrent(flatStore(store), end && { ...end, announced: flat(end.announced) }),
    judgeCandidate: (candidate, store, end) =>
      judgeCandidate(
        { ...candidate, store: flatStore(candidate.store) },
        flatStore(store),
        end && { ...end, announced: flat(end.announced) },
      ),
    planTerm: () => undefined,
  },
  "no hash": {
    hashOf: (bytes) => Number(Buffer.from(bytes).toString()).toString(16).padStart(64, "0"),
  },
  "PostgreSQL read before the stream": { readsPostgresFirst: true },
  "a swap before the head": {
    judgeCandidate: ({ store }) => (lacksEntries(store) ? "drop" : "swap"),
  },
  "the old store not written": { writesOldStore: false },
  "heartbeats outside of the log": {
    heartbeatsOutside: true,
    isCurrent: isCurrentByHeartbeat,
    judgeCandidate: (candidate, store, end) =>
      judgeCandidate(
        candidate,
        store,
        end && { ...end, hash: end.hash ?? candidate.store.head.hash },
      ),
  },
  "a tail that was restored taken for a new one": {
    isCurrent: (store, end) => isCurrent(store, end && { ...end, isNew: true }),
  },
  "what follows an entry not announced": {
    isCurrent: (store, end) => isCurrent(store, end && { ...end, announced: store.head }),
  },
  "a term that hosts cannot ask for": { planTerm: () => undefined },
  "what nobody signed taken": { verifies: false },
  "an entry that comes again taken for a new one": {
    advanceEnd: (end, entry, { isLater }) =>
      RULES.advanceEnd(end, entry, { isLater, isRepeated: false }),
  },
  "a new term without the takedowns": { repeatsTakedowns: false },
  "every state numbered": { coalesces: false },
};

describe("a mutation is caught", () => {
  test.each(Object.keys(MUTATIONS))("%s", (name) => {
    const rules = { ...RULES, ...MUTATIONS[name] };
    const property = fc.property(histories, (events) => play(events, rules));
    const startedAt = performance.now();
    const details = fc.check(property, {
      numRuns: MUTATED_MAX,
      endOnFailure: true,
      ...MUTATED_SEED,
    });
    print(`caught: ${name}`, details, startedAt);
    expect(details.failed).toBe(true);
    expect(details.errorInstance).toBeInstanceOf(Violation);
  });
});
