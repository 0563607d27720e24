/**
 * Goal: a stream that lacks links is noticed, whatever has happened to it, and none that has them
 * all is filled.
 */
import { describe, expect, test } from "bun:test";

import type { FeedRow } from "./sql.ts";
import { findLoss, type StreamLoss } from "./stream-loss.ts";

const ROW: FeedRow = {
  stream: "a",
  last_sequence: 100,
  messages: 50,
  epoch: 7,
  version: 1_000,
  incomplete_since: null,
  filled_links: 0,
};
const STREAM = { created: "a", last_sequence: 100, messages: 50 };
const HEARTBEAT = { complete: true, epoch: 7, version: 1_000 };
const NEW_ROW: FeedRow = { ...ROW, stream: null, last_sequence: 0, messages: 0, epoch: null };

type Given = Partial<{
  before: FeedRow;
  after: FeedRow;
  stream: Partial<typeof STREAM>;
  heartbeat: typeof HEARTBEAT | undefined;
  acknowledged: number;
}>;

const cases: [string, StreamLoss | undefined, Given][] = [
  ["that nothing has happened to has lost nothing", undefined, {}],
  ["that has grown has lost nothing", undefined, { stream: { last_sequence: 200, messages: 60 } }],
  [
    "that another process has seen grow meanwhile has lost nothing",
    undefined,
    { after: { ...ROW, last_sequence: 300, messages: 90 } },
  ],
  ["that was deleted or came back empty", "recreated", { stream: { created: "b", messages: 0 } }],
  [
    "that was created again and is filled already",
    undefined,
    { stream: { created: "b" }, after: { ...ROW, stream: "b" } },
  ],
  ["of which an older copy came back", "rolled_back", { stream: { last_sequence: 99 } }],
  [
    "that forgot what this process has published since the last check",
    "rolled_back",
    { acknowledged: 101 },
  ],
  [
    "that has what this process has published since the last check",
    undefined,
    { acknowledged: 101, stream: { last_sequence: 101 } },
  ],
  ["of which a part is damaged", "thinned", { stream: { messages: 49 } }],
  [
    "whose heartbeat a later database published",
    "database_restored",
    { heartbeat: { ...HEARTBEAT, version: 1_001 } },
  ],
  [
    "whose heartbeat another process has published meanwhile",
    undefined,
    { heartbeat: { ...HEARTBEAT, version: 1_001 }, after: { ...ROW, version: 1_001 } },
  ],
  ["without a heartbeat of this version", undefined, { heartbeat: undefined }],
  ["that is being filled", "incomplete", { after: { ...ROW, incomplete_since: 1_000 } }],
  [
    "that was never filled",
    "never_filled",
    { before: NEW_ROW, after: NEW_ROW, heartbeat: undefined },
  ],
  [
    "that a backup from before this version meets",
    "database_restored",
    { before: NEW_ROW, after: { ...NEW_ROW, version: 0 } },
  ],
];

describe("a stream", () => {
  test.each(cases)(
    "%s: %p",
    (_name, loss, { before = ROW, after = ROW, acknowledged = 0, ...given }) => {
      const heartbeat = "heartbeat" in given ? given.heartbeat : HEARTBEAT;
      const stream = { ...STREAM, ...given.stream };
      expect(findLoss({ before, stream, acknowledged, heartbeat, after })).toBe(loss);
    },
  );
});
