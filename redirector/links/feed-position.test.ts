import { describe, expect, mock, test } from "bun:test";

import { type Position, resume } from "./feed-position.ts";

const stream = (created: string, last_seq: number) => ({ created, state: { last_seq } });

/** Resumes on a stream that is in these positions, one after the other; the last one stays. */
async function resumeOn(position: Position, positions: ReturnType<typeof stream>[]) {
  const onLost = mock(() => undefined);
  let asked = 0;
  const resumed = await resume(
    position,
    async () => positions[Math.min(asked++, positions.length - 1)] ?? stream("a", 0),
    onLost,
    () => Promise.resolve(),
  );
  return { resumed, isLost: onLost.mock.calls.length > 0 };
}

describe("the position in the links feed", () => {
  test.each([
    ["starts at the beginning without an earlier one", { stream: null, sequence: 0 }, 0, false],
    ["resumes behind the last change applied", { stream: "a", sequence: 5 }, 5, false],
    ["stays where it is when nothing is new", { stream: "a", sequence: 7 }, 7, false],
    ["is lost when the stream was rolled back", { stream: "a", sequence: 8 }, 0, true],
    ["is lost when the stream was recreated", { stream: "z", sequence: 5 }, 0, true],
  ])("%s", async (_name, position, sequence, isLost) => {
    expect(await resumeOn(position, [stream("a", 7)])).toEqual({
      resumed: { stream: "a", sequence },
      isLost,
    });
  });

  test("is kept when a new leader is behind for a moment", async () => {
    const cursor = { stream: "a", sequence: 9 };
    const catchingUp = [stream("a", 4), stream("a", 7), stream("a", 9)];
    expect(await resumeOn(cursor, catchingUp)).toEqual({ resumed: cursor, isLost: false });
  });
});
