/**
 * Goal: each stream of a divided feed has its links and all notices, a lost one is filled without
 * the others, and a feed to which not every process publishes is never taken for complete. Method:
 * real PostgreSQL and NATS.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  isInStream,
  type LinksStream,
  linksStreams,
} from "../../shared/contracts/links-streams.ts";
import { readHeartbeat, shortLinkOfSubject } from "../../shared/contracts/streams.ts";
import { openImages, positionsOf } from "../../shared/links-store/images.ts";
import { createLog } from "../../shared/log.ts";
import { eventually } from "../../test/harness/eventually.ts";
import { type FeedStores, keepFeed, startFeedStores } from "../../test/harness/links-feed.ts";
import { longTest } from "../../test/harness/property-runs.ts";
import { startImages } from "../links/republish/image-job.ts";
import { changeTakedowns } from "../takedowns/service.ts";
import { resyncLinks } from "./resync.ts";
import { selectFeeds } from "./sql.ts";

setDefaultTimeout(120_000);

const WITHIN_MS = 30_000;
const INTERVAL_MS = 200;
const LINKS = 1_100;

const log = createLog("test", "silent");
const ONE = linksStreams(1);
const FOUR = linksStreams(4);

let stores: FeedStores;
beforeAll(async () => {
  stores = await startFeedStores();
  await stores.addLinks(LINKS);
  await changeTakedowns(stores.sql, "host", "evil.example", true);
});
afterAll(() => stores[Symbol.asyncDispose]());

/** Keeps the feed of these streams as an API process does. */
function startApi(streams: readonly LinksStream[]) {
  /**
   * What was said when a filling began: small streams are complete again before anybody could ask.
   */
  const said: { problem: string | undefined; complete: Record<string, number> }[] = [];
  const kept = keepFeed({
    ...stores,
    streams,
    onFill: () =>
      said.push({ problem: kept.watch.problem(), complete: kept.watch.completeStreams() }),
  });
  return { ...kept, said };
}

type Api = ReturnType<typeof startApi>;

const expectComplete = ({ watch }: Api): Promise<void> =>
  eventually(async () => expect(watch.complete()).toBe(true), WITHIN_MS);

/** The aliases that a stream has. */
async function aliasesIn({ name, root }: LinksStream): Promise<string[]> {
  const { state } = await stores.manager.streams.info(name, { subjects_filter: `${root}.>` });
  return Object.keys(state.subjects ?? {}).flatMap((subject) => {
    const link = shortLinkOfSubject(subject);
    return link === undefined ? [] : [link.alias];
  });
}

/** Each link is in the stream that has it, and in no other. */
async function expectDivided(): Promise<void> {
  const all = Array.from({ length: LINKS }, (_, i) => `link-${i + 1}`);
  for (const stream of FOUR) {
    const own = all.filter((alias) => isInStream(stream, { domain: "", alias }));
    expect((await aliasesIn(stream)).toSorted()).toEqual(["@takedowns", ...own].toSorted());
  }
}

longTest(
  "a divided feed has each link in its stream, and a lost stream is filled without the others",
  async () => {
    await using api = startApi(FOUR);
    await expectComplete(api);
    await expectDivided();
    const epochs = async () => (await selectFeeds(stores.sql)).map(({ epoch }) => epoch);
    const before = await epochs();
    api.said.length = 0;
    await stores.manager.streams.delete("LINKS_4_2");
    await eventually(async () => expect((await epochs())[2]).not.toBe(before[2]), WITHIN_MS);
    expect(api.said).toEqual([
      {
        problem: expect.stringContaining("the stream LINKS_4_2 lacks links"),
        complete: { LINKS_4_0: 1, LINKS_4_1: 1, LINKS_4_2: 0, LINKS_4_3: 1 },
      },
    ]);
    await expectComplete(api);
    await expectDivided();
    const after = await epochs();
    expect(after.map((epoch, i) => epoch === before[i])).toEqual([true, true, false, true]);
    // An operator has all of them filled.
    expect(await resyncLinks(stores.sql, () => undefined)).toBe(LINKS);
    expect((await epochs()).map((epoch, i) => epoch === after[i])).not.toContain(true);
    await expectDivided();
  },
);

test("an image of a divided feed has a position in each stream", async () => {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-images-"));
  const images = openImages({ LINKS_IMAGES: dir });
  if (images === undefined) throw new Error("There is no place.");
  await using api = startApi(FOUR);
  await expectComplete(api);
  const { sql } = stores;
  const deps = { sql, nats: Promise.resolve(stores.connection), images, log };
  const job = startImages({ ...deps, streams: FOUR, intervalMs: INTERVAL_MS });
  const [image] = await eventually(async () => {
    const listed = await images.list();
    expect(listed).toHaveLength(1);
    return listed;
  }, WITHIN_MS);
  await job.stop();
  if (image === undefined) throw new Error("There is no image.");
  const rows = await selectFeeds(sql);
  for (const [i, { epoch, sequence }] of positionsOf(image).entries()) {
    expect(epoch).toBe(rows[i]?.epoch ?? -1);
    const { state } = await stores.manager.streams.info(FOUR[i]?.name ?? "");
    expect(sequence).toBeGreaterThan(LINKS / 5);
    expect(sequence).toBeLessThanOrEqual(state.last_seq);
  }
  expect(positionsOf(image)).toHaveLength(FOUR.length);
  rmSync(dir, { recursive: true });
});

longTest(
  "a feed to which one process does not publish is not complete until that process is gone",
  async () => {
    await using both = startApi([...ONE, ...FOUR]);
    await expectComplete(both);
    {
      // As a process that was not started with the new number yet: what it changes is not in the four
      // streams.
      await using old = startApi(ONE);
      await eventually(async () => expect(both.watch.complete()).toBe(false), WITHIN_MS);
      // That to which both publish lacks nothing.
      await eventually(async () => expect(old.watch.complete()).toBe(true), WITHIN_MS);
      expect(both.watch.completeStreams()).toMatchObject({ LINKS: 1 });
    }
    await expectComplete(both);
    await expectDivided();
  },
);

longTest(
  "a feed that is no longer published says so, and is filled before it is believed again",
  async () => {
    {
      await using before = startApi(ONE);
      await expectComplete(before);
    }
    const epoch = (await readHeartbeat(stores.manager))?.epoch ?? 0;
    {
      await using divided = startApi(FOUR);
      await expectComplete(divided);
      expect(await readHeartbeat(stores.manager)).toMatchObject({ complete: false });
    }
    await using again = startApi(ONE);
    await expectComplete(again);
    await eventually(async () => {
      const heartbeat = await readHeartbeat(stores.manager);
      expect(heartbeat).toMatchObject({ complete: true });
      expect(heartbeat?.epoch).toBeGreaterThan(epoch);
    }, WITHIN_MS);
  },
);
