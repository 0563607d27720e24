/**
 * Goal: a field of tags offers the known ones that fit what is being typed, and keeps what is
 * before.
 */
import { expect, test } from "bun:test";

import { completeTags } from "./tag-options.ts";

const KNOWN = ["mail", "Spring", "spring-sale", "offspring", "a,b"];

test("the last tag of a text is completed, wherever it occurs in a known one, ignoring case", () => {
  expect(completeTags("spr", KNOWN)).toEqual(["Spring", "spring-sale", "offspring"]);
  expect(completeTags("SALE", KNOWN)).toEqual(["spring-sale"]);
  expect(completeTags("none", KNOWN)).toEqual([]);
});

test("the tags before it stay as they are, and are not offered again", () => {
  expect(completeTags("mail, x,spr", KNOWN)).toEqual([
    "mail, x, Spring",
    "mail, x, spring-sale",
    "mail, x, offspring",
  ]);
  expect(completeTags("Spring, spr", KNOWN)).toEqual(["Spring, spring-sale", "Spring, offspring"]);
});

test("an empty text offers the first known tags, and none that a comma would divide", () => {
  expect(completeTags("", KNOWN)).toEqual(["mail", "Spring", "spring-sale", "offspring"]);
  const many = Array.from({ length: 100 }, (_, i) => `t${i}`);
  expect(completeTags("", many)).toEqual(many.slice(0, 20));
});
