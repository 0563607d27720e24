import { describe, expect, test } from "bun:test";

import { matchItems, moveActive, type PaletteItem, readDestination } from "./palette.tsx";

const newItem = (name: string, detail: string): PaletteItem => ({
  id: name,
  name,
  detail,
  onSelect: () => undefined,
});

const ITEMS = [newItem("New link", "Action"), newItem("Links", "Page"), newItem("Usage", "Page")];

const find = (text: string) => matchItems(ITEMS, text).map(({ name }) => name);

describe("the palette", () => {
  test("finds what has every word, in any order and case", () => {
    expect(find("")).toEqual(["New link", "Links", "Usage"]);
    expect(find("LINK")).toEqual(["New link", "Links"]);
    expect(find(" link  page ")).toEqual(["Links"]);
    expect(find("link usage")).toEqual([]);
    // It is no pattern.
    expect(find(".*")).toEqual([]);
  });

  test("offers a new link to a destination that is typed, with or without its scheme", () => {
    expect(readDestination("example.com/x")).toBe("https://example.com/x");
    expect(readDestination("http://example.com")).toBe("http://example.com");
    for (const text of ["", "usage", "new link", "javascript:alert(1)", "a@example.com"]) {
      expect(readDestination(text)).toBeUndefined();
    }
  });

  test("moves by arrow keys, past the end to the other", () => {
    expect(moveActive("ArrowDown", 0, 3)).toBe(1);
    expect(moveActive("ArrowDown", 2, 3)).toBe(0);
    expect(moveActive("ArrowUp", 0, 3)).toBe(2);
    expect(moveActive("ArrowDown", 0, 0)).toBeUndefined();
    // The ends of the text, not of the list.
    expect(moveActive("Home", 1, 3)).toBeUndefined();
  });
});
