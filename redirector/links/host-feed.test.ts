import { expect, test } from "bun:test";

import { linksStreams } from "../../shared/contracts/links-streams.ts";
import { EMPTY_FEED, type FeedState } from "../../shared/links-store/schema.ts";
import { FeedHealth } from "./feed-health.ts";
import { combineFeeds } from "./host-feed.ts";

const whole: FeedState = {
  ...EMPTY_FEED,
  stream: "s",
  complete: true,
  sequence: 5,
  confirmed_at: 9,
};

/** The feed of four streams, of which one has another state. */
const combine = (other: Partial<FeedState> = {}) =>
  combineFeeds(linksStreams(4), (name) => (name === "LINKS_4_2" ? { ...whole, ...other } : whole));

test("a feed that is not divided is its stream", () => {
  expect(combineFeeds(linksStreams(1), (name) => ({ ...whole, stream: name }))).toEqual({
    ...whole,
    stream: "LINKS",
  });
});

test("a divided feed is complete, current and heard of only as far as each of its streams is", () => {
  expect(combine()).toMatchObject({ complete: true, pending: 0, confirmed_at: 9, sequence: 20 });
  expect(combine({ complete: false }).complete).toBe(false);
  expect(combine({ pending: 3 }).pending).toBe(3);
  expect(combine({ confirmed_at: 4 }).confirmed_at).toBe(4);
  expect(combine({ lacks: 2 }).lacks).toBe(2);
  expect(combine({ stream: null }).stream).toBeNull();
});

test("readiness, warnings and metrics name the stream that lacks links, or that nobody hears of", () => {
  let seconds = 0;
  const health = new FeedHealth(() => seconds * 1_000);
  health.onFeed(combine({ complete: false }));
  health.onCurrent();
  expect(health.readiness()).toBe("the store lacks links of LINKS_4_2");
  expect(health.warning()).toContain("lacks links of LINKS_4_2;");
  expect(health.completeStreams()).toEqual({
    LINKS_4_0: 1,
    LINKS_4_1: 1,
    LINKS_4_2: 0,
    LINKS_4_3: 1,
  });
  health.onFeed(combine({ confirmed_at: 4 }));
  expect(health.readiness()).toBe("ok");
  seconds = 40;
  health.onFeed({ ...combine({ confirmed_at: 4 }), sequence: 21 });
  expect(health.warning()).toContain("last confirmed 40 s ago");
  expect(health.warning()).toContain("LINKS_4_2");
  expect(health.warning()).not.toContain("LINKS_4_1");
});

test("metrics name the stream of a feed that is not divided", () => {
  const health = new FeedHealth();
  health.onFeed(whole);
  expect(health.completeStreams()).toEqual({ LINKS: 1 });
});
