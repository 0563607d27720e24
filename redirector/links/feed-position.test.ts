import { describe, expect, mock, test } from "bun:test";

import { NUMBERING_DIFFERENCE_MAX, type Position, resume, toNanos } from "./feed-position.ts";

const stream = (created: string, last_seq: number, num_replicas = 1) => ({
  created,
  state: { last_seq },
  config: { num_replicas },
});

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

  test.each([
    ["the end of a new leader that numbers its messages differently", 1, 10, false],
    ["lost when the difference is larger than that", 2, 0, true],
  ])("in a replicated stream is %s", async (_name, more, sequence, isLost) => {
    const position = { stream: "a", sequence: 9 + NUMBERING_DIFFERENCE_MAX + more };
    expect(await resumeOn(position, [stream("a", 10, 3)])).toEqual({
      resumed: { stream: "a", sequence },
      isLost,
    });
  });
});

describe("the time of a message", () => {
  test.each([
    ["2026-11-24T03:46:03.664703404Z", 1_795_491_963_664_703_404n],
    ["2026-11-24T03:46:03.6647Z", 1_795_491_963_664_700_000n],
    ["2026-11-24T03:46:03Z", 1_795_491_963_000_000_000n],
  ])("%s is rounded as the client rounds it", (time, nanos) => {
    expect(toNanos(time)).toBe(Number(nanos));
  });
});
