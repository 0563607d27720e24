import { describe, expect, test } from "bun:test";

import fc from "fast-check";

import { readValue, writeValue } from "../../data/scope.ts";
import { updateParams } from "../../ui/search-state.ts";
import { NOTHING, select, selectedOf, selectExactly, type Selection } from "./link-list.tsx";
import {
  addTag,
  boundOf,
  chooseStatus,
  dayOf,
  isFiltered,
  readListQuery,
  readStatus,
  removeTag,
  replaceConditions,
  STATUSES,
  toApiQuery,
  toConditions,
} from "./list-query.ts";

const read = (search: string) => readListQuery(new URLSearchParams(search));

describe("the list of links", () => {
  test("is of the newest links that are not archived, where the URL says nothing", () => {
    expect(read("")).toEqual({ sort: "created_at", order: "desc", tags: [], utm: {}, limit: 20 });
    expect(isFiltered(read(""))).toBe(false);
    expect(readStatus(read(""))).toBe("");
  });

  test("has every filter of the URL, as the API takes it", () => {
    const query = read(
      "search=a%26b&tag=x&tag=y&domain=go.example&archived=any&expired=true&limit=50" +
        "&utm_source=-a&utm_source=b&utm_term=&created_by=user_1" +
        "&created_after=2026-01-01T01:00:00%2B01:00&created_before=2026-02-01T00:00:00Z",
    );
    expect(toApiQuery(query)).toEqual({
      sort: "created_at",
      order: "desc",
      search: "a&b",
      tag: ["x", "y"],
      domain: "go.example",
      archived: "any",
      expired: "true",
      utm_source: ["-a", "b"],
      utm_term: [""],
      created_by: "user_1",
      created_after: "2026-01-01T00:00:00.000Z",
      created_before: "2026-02-01T00:00:00.000Z",
      limit: 50,
    });
    expect(Object.keys(toApiQuery(read("")))).not.toContain("tag");
  });

  test.each([
    "search=x",
    "tag=x",
    "domain=x",
    "archived=true",
    "expired=false",
    "utm_medium=-x",
    "created_by=x",
    "created_after=2026-01-01T00:00:00.000Z",
  ])("is filtered by %s", (search) => expect(isFiltered(read(search))).toBe(true));

  test("never asks the API for what it would reject", () => {
    const long = "x".repeat(400);
    const tags = Array.from({ length: 30 }, (_, i) => `tag=${i}`).join("&");
    const query = read(`search=${long}&tag=${long}&${tags}&domain=${long}&archived=no&expired=1`);
    expect(query.search).toHaveLength(255);
    expect(query.domain).toHaveLength(253);
    expect(query.tags).toHaveLength(20);
    expect(query.tags[0]).toHaveLength(50);
    expect(query.archived).toBeUndefined();
    expect(query.expired).toBeUndefined();
    const other = read(
      `utm_source=${"x".repeat(1_025)}&created_after=yesterday&created_by=${long}`,
    );
    expect(other).toMatchObject({ utm: {}, created_by: "x".repeat(40) });
    expect(other.created_after).toBeUndefined();
    for (const limit of ["0", "1000", "-1", "x"]) expect(read(`limit=${limit}`).limit).toBe(20);
    fc.assert(
      fc.property(fc.string(), (text) => {
        const { sort, order } = read(`sort=${text}&order=${text}`);
        expect(["created_at", "clicks", "last_click_at"]).toContain(sort);
        expect(["asc", "desc"]).toContain(order);
      }),
    );
  });

  test("shows the state that was chosen, and no other is left in the URL", () => {
    for (const { value: from } of STATUSES) {
      for (const { value } of STATUSES) {
        const before = updateParams(new URLSearchParams("search=x"), chooseStatus(from));
        const after = updateParams(before, chooseStatus(value));
        expect(readStatus(readListQuery(after))).toBe(value);
        expect(after.get("search")).toBe("x");
      }
    }
    expect(readStatus(read("archived=any&expired=true"))).toBeUndefined();
  });

  test("is saved without its order, and opened in place of every other condition", () => {
    const saved = toConditions(read("sort=clicks&limit=50&search=a%26b&tag=x&tag=y&utm_term=-c"));
    expect(saved).toBe("search=a%26b&utm_term=-c&tag=x&tag=y");
    const shown = new URLSearchParams("sort=clicks&domain=go.example&created_by=user_1&tag=z");
    const opened = updateParams(shown, replaceConditions(saved));
    expect(opened.get("sort")).toBe("clicks");
    expect(toConditions(readListQuery(opened))).toBe(saved);
  });

  test("is of whole local days, also where a clock is put forward", () => {
    for (const day of ["2026-03-29", "2026-10-25", "2026-12-31", "2024-02-29"]) {
      const [from, to] = [boundOf(day), boundOf(day, true)];
      expect([dayOf(from), dayOf(to, true)]).toEqual([day, day]);
      expect(Date.parse(to ?? "") > Date.parse(from ?? "")).toBe(true);
    }
    expect([boundOf(""), dayOf(undefined)]).toEqual([undefined, ""]);
  });

  test.each(["plain", "-x", "\\x", "-\\", ""])("has the value %j as it was typed", (value) => {
    expect(readValue(writeValue(value))).toEqual({ value, negated: false });
    expect(readValue(`-${writeValue(value)}`)).toEqual({ value, negated: true });
  });

  test("is narrowed by one tag after another, and widened again", () => {
    const params = new URLSearchParams("tag=a");
    const both = updateParams(params, addTag(readListQuery(params), " b "));
    expect(both.toString()).toBe("tag=a&tag=b");
    expect(addTag(readListQuery(both), "a")).toEqual({ tag: ["a", "b"] });
    expect(addTag(readListQuery(both), " ")).toEqual({ tag: ["a", "b"] });
    const one = updateParams(both, removeTag(readListQuery(both), "a"));
    expect(one.toString()).toBe("tag=b");
  });
});

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
