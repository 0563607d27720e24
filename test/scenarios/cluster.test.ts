/**
 * Goal: the death of any one server or process of a redundant fleet interrupts only what it must,
 * and loses nothing.
 */
import { expect, test } from "bun:test";

import { runCluster } from "../cluster/run.ts";
import { LINKS_BEFORE_SHORT } from "../harness/bulk-links.ts";
import { ownNatsServer } from "../harness/nats-versions.ts";

/** Each kind of fault once; `bun run test:cluster` runs longer, and under more load. */
const FAULTS = 7;

test("redirects of known links, acknowledged links and clicks survive the death of any server or process", async () => {
  const seed = Date.now() % 1_000_000;
  console.log(`seed ${seed}`);
  const report = await runCluster({
    program: await ownNatsServer(),
    seed,
    rounds: FAULTS,
    links: LINKS_BEFORE_SHORT,
    redirectsPerSecond: 50,
    writesPerSecond: 5,
    // How long each fault interrupts what is not judged here.
    quietMs: 200,
    log: console.log,
  });
  const { rounds, failures, missing, outdated, redirected, unknown, stored, delivered } = report;
  expect(new Set(rounds.map(({ fault }) => fault)).size).toBe(FAULTS);
  expect(failures).toEqual([]);
  expect(missing).toEqual([]);
  expect(outdated).toEqual([]);
  expect(stored).toBeGreaterThanOrEqual(redirected);
  expect(stored).toBeLessThanOrEqual(redirected + unknown);
  expect(delivered).toBeGreaterThan(0);
}, 900_000);
