import { describe, expect, test } from "bun:test";

import { matchItems, moveActive, type PaletteItem, readDestination } from "./palette.tsx";
import { readShortcut } from "./shortcuts.ts";

const press = (key: string, held: readonly ("ctrlKey" | "metaKey" | "altKey")[] = []) => ({
  key,
  ctrlKey: held.includes("ctrlKey"),
  metaKey: held.includes("metaKey"),
  altKey: held.includes("altKey"),
});

describe("a shortcut", () => {
  test.each([
    ["c", "create"],
    ["C", "create"],
    ["/", "search"],
    ["?", "shortcuts"],
    ["k", undefined],
    ["Enter", undefined],
  ] as const)("%s alone is the command %p", (key, command) => {
    expect(readShortcut(press(key), true)).toBe(command);
  });

  test("with Ctrl or ⌘ is only the K of the palette: the rest is the browser's", () => {
    for (const held of ["ctrlKey", "metaKey"] as const) {
      expect(readShortcut(press("k", [held]), true)).toBe("palette");
      for (const key of ["c", "/", "?", "f", "l", "t"]) {
        expect(readShortcut(press(key, [held]), true)).toBeUndefined();
      }
    }
    expect(readShortcut(press("k", ["ctrlKey", "metaKey"]), true)).toBeUndefined();
    expect(readShortcut(press("c", ["altKey"]), true)).toBeUndefined();
    // AltGr, by which other keyboards write characters, is Ctrl and Alt.
    expect(readShortcut(press("/", ["ctrlKey", "altKey"]), true)).toBeUndefined();
  });

  test("of a single key can be switched off", () => {
    for (const key of ["c", "/", "?"]) expect(readShortcut(press(key), false)).toBeUndefined();
    expect(readShortcut(press("k", ["ctrlKey"]), false)).toBe("palette");
  });
});

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
