/**
 * Goal: every segment is stored once, with the same rows in every table, however owners are killed,
 * paused and continued.
 */
import { describe, expect, test } from "bun:test";

import { formatSegmentId, type SegmentId } from "../../shared/contracts/click-segment.ts";
import { modelSegment, World } from "../../test/harness/batches-model.ts";
import { casesOf } from "../../test/harness/property-runs.ts";
import { createRandom, type Random } from "../../test/harness/random.ts";
import { LostOwnershipError } from "./owner.ts";

const JOURNALS = ["01900000-0000-7000-8000-00000000000a", "01900000-0000-7000-8000-00000000000b"];
const SEGMENTS = 10;
const RUNS = casesOf(1_000);
const STEPS = 500;

const LAST = modelSegment("01900000-0000-7000-8000-00000000000c", 0);

/** Steps after which a run without faults must have ended. */
const CALM_STEPS_MAX = 20_000;

type Workers = { started: number; dead: Set<number>; deadLetters: Set<string> };

/** A worker that takes over when it has waited for a while, and then stores what waits. */
async function work(world: World, worker: number, random: Random, workers: Workers): Promise<void> {
  for (;;) {
    for (let i = random.between(0, 60); i > 0; i--) await world.step(worker);
    const owner = await world.takeOver(worker).catch(() => undefined);
    if (owner === undefined) continue;
    try {
      for (;;) {
        await world.step(worker);
        const fetched = world.waiting(worker).slice(0, random.between(1, 5));
        const known = fetched.filter((segment) => owner.has(segment));
        const batch = new Map(
          fetched
            .filter((segment) => !owner.has(segment))
            .map((segment) => [formatSegmentId(segment), segment]),
        );
        const refused = await owner.store([...batch.values()]);
        for (const { segment } of refused) workers.deadLetters.add(formatSegmentId(segment));
        for (const { sequence } of [...known, ...batch.values()]) {
          await world.step(worker);
          world.acknowledge(sequence);
        }
        if (random.between(1, 20) === 1) {
          await owner.release().catch(() => undefined);
          break;
        }
      }
    } catch (error) {
      if (!(error instanceof LostOwnershipError)) throw error;
    }
  }
}

const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

async function run(seed: number): Promise<void> {
  const random = createRandom(seed);
  const segments = JOURNALS.flatMap((journalId) =>
    Array.from({ length: SEGMENTS }, (_, segment) => modelSegment(journalId, segment)),
  );
  const poison = new Set(
    segments.filter(() => random.between(1, 20) === 1).map((id) => formatSegmentId(id)),
  );
  const world = new World(random, poison);
  const workers: Workers = { started: 0, dead: new Set(), deadLetters: new Set() };
  const start = () => {
    const worker = workers.started++;
    void work(world, worker, random, workers);
    return worker;
  };
  let [active, paused] = [[start(), start()], new Set<number>()];
  const toPublish = [...segments];

  async function takeStep(): Promise<void> {
    const ready = world.steps.filter(
      ({ worker }) => worker === undefined || (active.includes(worker) && !paused.has(worker)),
    );
    const next = ready[random.between(0, ready.length - 1)];
    if (next !== undefined) {
      world.steps.splice(world.steps.indexOf(next), 1);
      next.run();
    }
    await tick();
  }

  for (let i = 0; i < STEPS; i++) {
    const chance = random.between(1, 100);
    const victim = random.between(0, 1);
    if (chance === 1) {
      active[victim] = start();
      // NATS may forget what the killed worker was storing.
      if (random.between(1, 2) === 1) toPublish.push(...world.setBack(random.between(1, 6)));
    } else if (chance <= 3) paused.add(active[victim] ?? 0);
    else if (chance <= 7) paused.clear();
    else if (chance === 8) toPublish.push(...world.setBack(random.between(1, 4)));
    else if (chance <= 14)
      world.publish(toPublish.shift() ?? random.pick([segments[0] as SegmentId]));
    await takeStep();
  }
  // The last one is new, so that its owner has settled what others left in doubt.
  await settle([...toPublish, LAST]);
  // Everything again, after more inserts than ClickHouse remembers.
  world.calm(true);
  await settle([...segments]);
  world.checkConsistency();
  for (const id of segments) {
    const key = formatSegmentId(id);
    const [clicks = [], ...rollups] = world.rowsOf(id);
    expect([seed, key, clicks.length]).toEqual([seed, key, poison.has(key) ? 0 : 1]);
    expect([seed, key, ...rollups]).toEqual([seed, key, clicks, clicks]);
  }
  expect(workers.deadLetters).toEqual(poison);

  async function settle(ids: SegmentId[]): Promise<void> {
    world.calm();
    paused = new Set();
    active = active.slice(0, 1);
    for (const id of ids.splice(0)) world.publish(id);
    for (
      let i = 0;
      world.hasWaiting() || world.steps.some(({ worker }) => worker === undefined);
      i++
    ) {
      if (i > CALM_STEPS_MAX) throw new Error(`Seed ${seed} does not come to an end.`);
      await takeStep();
    }
  }
}

describe("two owners", () => {
  test("store every segment once and alike in every table, in whatever order their steps are taken", async () => {
    const first = Math.floor(Math.random() * 2 ** 31);
    for (let seed = first; seed < first + RUNS; seed++)
      await run(seed).catch((error: unknown) => {
        throw new Error(`Seed ${seed}`, { cause: error });
      });
  }, 300_000);
});
