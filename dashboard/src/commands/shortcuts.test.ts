import { describe, expect, test } from "bun:test";

import { readShortcut, takesKeys } from "./shortcuts.ts";

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

  test.each([
    ["a text field", { tagName: "INPUT", type: "url" }, true],
    ["a search", { tagName: "INPUT", type: "search" }, true],
    ["a text area", { tagName: "TEXTAREA" }, true],
    ["a choice", { tagName: "SELECT" }, true],
    ["an item of a menu", { tagName: "BUTTON", role: "menuitem" }, true],
    ["editable text", { tagName: "DIV", isContentEditable: true }, true],
    ["a text to copy", { tagName: "INPUT", type: "text", readOnly: true }, false],
    ["a checkbox", { tagName: "INPUT", type: "checkbox" }, false],
    ["a button", { tagName: "BUTTON", type: "submit" }, false],
    ["the page", { tagName: "BODY" }, false],
  ])("pressed in %s is typed: %p %p", (_name, target, typed) => {
    expect(takesKeys(target)).toBe(typed);
  });
});
