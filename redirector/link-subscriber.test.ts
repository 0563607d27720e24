import { describe, expect, mock, test } from "bun:test";

import { resume } from "./link-subscriber.ts";

const stream = (created: string, last_seq: number) => ({ created, state: { last_seq } });

describe("the cursor in the links feed", () => {
  test.each([
    ["starts at the end without an earlier one, as misses fetch links", undefined, 7, false],
    ["resumes behind the last change applied", { stream: "a", sequence: 5 }, 5, false],
    ["stays where it is when nothing is new", { stream: "a", sequence: 7 }, 7, false],
    [
      "is lost, and the cache with it, when the stream was rolled back",
      { stream: "a", sequence: 8 },
      7,
      true,
    ],
    [
      "is lost, and the cache with it, when the stream was recreated",
      { stream: "z", sequence: 5 },
      7,
      true,
    ],
  ])("%s", (_name, cursor, sequence, isLost) => {
    const onLost = mock(() => undefined);
    expect(resume(cursor, stream("a", 7), onLost)).toEqual({ stream: "a", sequence });
    expect(onLost).toHaveBeenCalledTimes(isLost ? 1 : 0);
  });
});
