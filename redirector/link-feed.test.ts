import { describe, expect, mock, test } from "bun:test";

import { resume } from "./link-feed.ts";

const stream = (created: string, last_seq: number) => ({ created, state: { last_seq } });

describe("where to go on reading the links feed", () => {
  test.each([
    ["the first time: at the end, for misses fetch what is asked for", undefined, 7, false],
    ["after a break: behind the last change taken in", { stream: "a", sequence: 5 }, 5, false],
    ["with nothing new: where it stands", { stream: "a", sequence: 7 }, 7, false],
    [
      "in a stream that was set back: nothing in memory can be trusted",
      { stream: "a", sequence: 8 },
      7,
      true,
    ],
    [
      "in a stream made anew: nothing in memory can be trusted",
      { stream: "z", sequence: 5 },
      7,
      true,
    ],
  ])("%s", (_name, cursor, sequence, isLost) => {
    const lost = mock(() => undefined);
    expect(resume(cursor, stream("a", 7), lost)).toEqual({ stream: "a", sequence });
    expect(lost).toHaveBeenCalledTimes(isLost ? 1 : 0);
  });
});
