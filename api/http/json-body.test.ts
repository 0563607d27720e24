/** Goal: to read a body takes others no more of a turn of the event loop, however many arrive. */
import { expect, spyOn, test } from "bun:test";

import { readJsonBody } from "./json-body.ts";

const post = (value: unknown): Request =>
  new Request("http://api.test/", {
    method: "POST",
    body: JSON.stringify(value),
    headers: { "content-type": "application/json" },
  });

const LARGE = { text: "a".repeat(20_000) };

test("large bodies that arrive at once are parsed in turns of their own, a small one at once", async () => {
  /** The bodies that were parsed in each turn. */
  const turns: unknown[][] = [[]];
  const parse = JSON.parse;
  using _ = spyOn(JSON, "parse").mockImplementation((text: string) => {
    const value: unknown = parse(text);
    turns.at(-1)?.push(value);
    return value;
  });
  const reading = Promise.all(
    [...Array.from({ length: 4 }, () => post(LARGE)), post(1)].map((request) =>
      readJsonBody(request),
    ),
  );
  const counting = { isOver: false };
  const count = (): void => {
    turns.push([]);
    if (!counting.isOver) setImmediate(count);
  };
  setImmediate(count);
  expect(await reading).toEqual([LARGE, LARGE, LARGE, LARGE, 1]);
  counting.isOver = true;
  const parsed = turns.filter((turn) => turn.length > 0);
  expect(parsed.flat()).toHaveLength(5);
  expect(parsed.filter((turn) => turn.includes(1))).toHaveLength(1);
  for (const turn of parsed)
    expect(turn.filter((value) => value !== 1).length).toBeLessThanOrEqual(1);
});
