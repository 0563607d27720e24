/** Goal: changes that wait for long are said, and those that are just being published are not. */
import { expect, test } from "bun:test";

import { describeOutbox } from "./log.ts";

test("only changes that have waited for a minute are said", () => {
  expect(describeOutbox({ pending: 0, oldest: null })).toBeUndefined();
  expect(describeOutbox({ pending: 900, oldest: 1_000 }, 1_059_000)).toBeUndefined();
  expect(describeOutbox({ pending: 2, oldest: 1_000 }, 1_090_500)).toBe(
    "2 changes of links are not published, the oldest for 90 s: redirectors serve these links as they were",
  );
});
