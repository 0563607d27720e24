/** Goal: a fill ends however busy NATS is, and holds nobody up. Method: real PostgreSQL and NATS. */
import { expect, test } from "bun:test";

import { selectFeed } from "../../api/feed/sql.ts";
import { eventually } from "../harness/eventually.ts";
import { keepFeed, startFeedStores } from "../harness/links-feed.ts";

/** Many batches, so that NATS pauses during one of the first. */
const LINKS = 20_000;

/** Longer than a request may wait for NATS. */
const PAUSE_MS = 4_000;

const WITHIN_MS = 60_000;

test("a fill goes on after NATS was silent for seconds, and does not begin again", async () => {
  await using stores = await startFeedStores();
  await stores.addLinks(LINKS);
  let fills = 0;
  await using api = keepFeed({
    ...stores,
    onFill: () => fills++,
  });
  await eventually(async () => expect(api.watch.filledLinks()).toBeGreaterThan(0), WITHIN_MS);
  expect(api.watch.filledLinks()).toBeLessThan(LINKS);
  stores.nats.pause();
  await Bun.sleep(PAUSE_MS);
  stores.nats.resume();
  await eventually(async () => {
    expect((await selectFeed(stores.sql)).incomplete_since).toBeNull();
    expect(api.watch.filledLinks()).toBe(LINKS);
  }, WITHIN_MS);
  expect(fills).toBe(1);
}, 200_000);

test("a process that stops does not wait for NATS as long as a fill does", async () => {
  await using stores = await startFeedStores();
  await stores.addLinks(LINKS);
  await using api = keepFeed(stores);
  await eventually(async () => expect(api.watch.filledLinks()).toBeGreaterThan(0), WITHIN_MS);
  stores.nats.pause();
  // By then a batch of the fill waits for NATS.
  await Bun.sleep(500);
  const stopped = api.watch.stop().then(() => "stopped");
  expect(await Promise.race([stopped, Bun.sleep(20_000)])).toBe("stopped");
  stores.nats.resume();
}, 200_000);
