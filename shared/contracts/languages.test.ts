import { expect, test } from "bun:test";

import { languageName } from "./languages.ts";

test.each([
  ["de", "German"],
  ["pt-BR", "Brazilian Portuguese"],
  ["qqq", "qqq"],
  ["no language", "no language"],
  ["", ""],
])("the language %p is shown as %p", (code, name) => {
  expect(languageName(code)).toBe(name);
});
