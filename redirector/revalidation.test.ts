/** Goal: links that the feed may have changed or withdrawn unseen are read again, and none is removed by mistake. */
import { describe, expect, test } from "bun:test";

import type { Heartbeat } from "../shared/contracts/feed-notices.ts";
import type { LinkRecord } from "../shared/contracts/link-record.ts";
import { createLog } from "../shared/log.ts";
import { eventually } from "../test/harness/eventually.ts";
import { activeLink } from "../test/harness/link-record.ts";
import { createLinkCache } from "./cache/link-cache.ts";
import { createDomainAnswers } from "./domain-settings.ts";
import { type FetchLink, MalformedRecordError } from "./link-fetch.ts";
import { createRevalidation } from "./revalidation.ts";

const WITHIN_MS = 5_000;

const beat = (epoch: number, complete = true): Heartbeat => ({ complete, epoch, version: epoch });

/** A revalidation of a cache with links of version 10, of a stream with others. */
function setUp({
  stream = new Map<string, LinkRecord>(),
  fromSnapshot = true,
  fetchLink,
}: {
  stream?: ReadonlyMap<string, LinkRecord>;
  fromSnapshot?: boolean;
  fetchLink?: FetchLink;
} = {}) {
  const cache = createLinkCache(4 * 1024 ** 2);
  for (let i = 0; i < 100; i++) cache.put(activeLink(`link-${i}`, 10));
  const read: string[] = [];
  const revalidation = createRevalidation({
    cache,
    domains: createDomainAnswers(),
    fetchLink: (domain, alias) => {
      read.push(alias);
      return fetchLink?.(domain, alias) ?? Promise.resolve(stream.get(alias));
    },
    fetchDomain: () => Promise.resolve(undefined),
    isStopped: () => false,
    initialEpoch: fromSnapshot ? 5 : undefined,
    log: createLog("test", "silent"),
  });
  const versions = () =>
    Object.fromEntries([...cache.records()].map(({ alias, version }) => [alias, version]));
  const expectEpoch = (epoch: number) =>
    eventually(async () => expect(revalidation.epoch()).toBe(epoch), WITHIN_MS);
  return { cache, revalidation, read, versions, expectEpoch };
}

describe("after a loss of the position in the feed", () => {
  test("nothing is read or removed until the feed says that it has every link", () => {
    const { cache, revalidation, read } = setUp();
    revalidation.onLost();
    revalidation.onHeartbeat(beat(5, false));
    expect([revalidation.isComplete(), revalidation.epoch()]).toEqual([false, undefined]);
    expect([cache.stats().entries, read.length]).toEqual([100, 0]);
  });

  test("each cached link is read again, the newer version stays, and what the feed lacks is removed", async () => {
    const stream = new Map([
      ["link-0", activeLink("link-0", 11)],
      // The cache knows a newer version.
      ["link-1", activeLink("link-1", 9)],
      ["link-2", activeLink("link-2", 10)],
    ]);
    let failures = 1;
    const { cache, revalidation, read, versions, expectEpoch } = setUp({
      stream,
      fetchLink: (_, alias) => {
        if (alias === "link-0" && failures-- > 0) return Promise.reject(new Error("no leader"));
        // Another change arrives while the link is being read.
        if (alias === "link-3") cache.put(activeLink("link-3", 12));
        return Promise.resolve(stream.get(alias));
      },
    });
    revalidation.onLost();
    revalidation.onHeartbeat(beat(5));
    expect(cache.stats().entries).toBe(100);
    await expectEpoch(5);
    expect(new Set(read).size).toBe(100);
    expect(versions()).toEqual({ "link-0": 11, "link-1": 10, "link-2": 10, "link-3": 12 });
  });

  test("a link whose record is malformed stays as it is cached, and holds up no other", async () => {
    const { cache, revalidation, expectEpoch } = setUp({
      fetchLink: (_, alias) =>
        alias === "link-9"
          ? Promise.reject(new MalformedRecordError())
          : Promise.resolve(undefined),
    });
    revalidation.onLost();
    revalidation.onHeartbeat(beat(5));
    await expectEpoch(5);
    expect([...cache.records()].map(({ alias }) => alias)).toEqual(["link-9"]);
  });

  test("an API of an earlier version, which does not know whether the feed is whole, removes nothing", async () => {
    const { cache, revalidation, expectEpoch } = setUp();
    revalidation.onLost();
    revalidation.onHeartbeat(undefined);
    await expectEpoch(0);
    expect(cache.stats().entries).toBe(100);
  });

  test("that comes while links are read again, they are all read once more", async () => {
    const release = Promise.withResolvers<undefined>();
    const { cache, revalidation, read, expectEpoch } = setUp({
      fetchLink: async () => {
        await release.promise;
        return undefined;
      },
    });
    revalidation.onLost();
    revalidation.onHeartbeat(beat(5));
    revalidation.onLost();
    read.length = 0;
    revalidation.onHeartbeat(beat(5));
    release.resolve(undefined);
    await expectEpoch(5);
    expect([new Set(read).size, cache.stats().entries]).toEqual([100, 0]);
  });
});

describe("after the stream was filled again", () => {
  test("only links that were not published since are read again", async () => {
    const { cache, revalidation, read, versions, expectEpoch } = setUp();
    cache.put(activeLink("renewed", 21));
    revalidation.onHeartbeat(beat(20));
    await expectEpoch(20);
    expect(new Set(read).size).toBe(100);
    expect(read).not.toContain("renewed");
    expect(versions()).toEqual({ renewed: 21 });
  });

  test("heartbeats of the same epoch or of an earlier one change nothing", () => {
    const { revalidation, read } = setUp();
    revalidation.onHeartbeat(beat(5));
    revalidation.onHeartbeat(beat(4));
    expect([revalidation.epoch(), read.length]).toEqual([5, 0]);
  });

  test("a cache from a snapshot of unknown epoch is read again as a whole", async () => {
    const { revalidation, read, expectEpoch } = setUp({ fromSnapshot: false });
    revalidation.onHeartbeat(beat(3));
    await expectEpoch(3);
    expect(new Set(read).size).toBe(100);
  });
});
