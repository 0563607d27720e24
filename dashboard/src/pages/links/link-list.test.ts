import { describe, expect, test } from "bun:test";

import { NOTHING, select, selectedOf, selectExactly, type Selection } from "./link-list.tsx";

const [a, b, c] = [{ id: "a" }, { id: "b" }, { id: "c" }] as const;

describe("the selection", () => {
  test("has what is ticked, in the order of the list, and not what is ticked off", () => {
    const both = select(select(NOTHING, "first", [c], true), "first", [a], true);
    expect(selectedOf(both, "first", [a, b, c])).toEqual([a, c]);
    expect(selectedOf(select(both, "first", [a, b, c], false), "first", [a, b, c])).toEqual([]);
    expect(selectedOf(NOTHING, "first", [a, b, c])).toEqual([]);
  });

  test("has no link that is not shown", () => {
    const all = select(NOTHING, "first", [a, b, c], true);
    expect(selectedOf(all, "first", [b])).toEqual([b]);
    expect(selectedOf(all, "second", [a, b, c])).toEqual([]);
  });

  test("has links beyond the page, each once, and one of the page can be ticked off", () => {
    const all: Selection<{ id: string }> = selectExactly("first", [a, b, c]);
    expect(selectedOf(all, "first", [b])).toEqual([b, a, c]);
    expect(selectedOf(select(all, "first", [b], false), "first", [b])).toEqual([a, c]);
    expect(selectedOf(all, "second", [b])).toEqual([]);
  });

  test("begins anew on another list, also when the first is shown again", () => {
    const first = select(NOTHING, "first", [a], true);
    const second = select(first, "second", [b], true);
    expect(selectedOf(second, "second", [a, b])).toEqual([b]);
    expect(selectedOf(second, "first", [a, b])).toEqual([]);
  });
});
