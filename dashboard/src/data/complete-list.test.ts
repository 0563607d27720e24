/**
 * Goal: a field of values offers the known ones that fit what is being typed, and keeps what is
 * before.
 */
import { expect, test } from "bun:test";

import { completeList, type ListOption, readList, readWords } from "./complete-list.ts";

const TAGS: ListOption[] = ["mail", "Spring", "spring-sale", "offspring", "Café", "a,b", "a;b"].map(
  (name) => ({ name }),
);
const COUNTRIES: ListOption[] = [
  { name: "Germany", code: "DE" },
  { name: "Denmark", code: "DK" },
  { name: "Sweden", code: "SE" },
];

const textsOf = (text: string, known = TAGS) => completeList(text, known).map(({ value }) => value);

test.each([
  [
    "wherever it occurs in a known one, ignoring case",
    "spr",
    ["Spring", "spring-sale", "offspring"],
  ],
  ["in any case", "SALE", ["spring-sale"]],
  ["by nothing that is not known", "none", []],
  [
    "after others",
    "mail, x,spr",
    ["mail, x, Spring", "mail, x, spring-sale", "mail, x, offspring"],
  ],
  ["after a semicolon", "mail; SALE", ["mail; spring-sale"]],
  ["in any form of its letters", "cafe\u0301", ["Café"]],
  ["by none that is there", "Spring, spr", ["Spring, spring-sale", "Spring, offspring"]],
  ["not to what it is", "mail, Spring", ["mail, spring-sale", "mail, offspring"]],
  ["and none would be two", "", ["mail", "Spring", "spring-sale", "offspring", "Café"]],
])("the last value of a text is completed: %s", (_, text, expected) => {
  expect(textsOf(text)).toEqual(expected);
});

test("an empty text offers the first known values", () => {
  const many = Array.from({ length: 100 }, (_, i) => ({ name: `t${i}` }));
  expect(textsOf("", many)).toEqual(many.slice(0, 20).map(({ name }) => name));
});

test("a value is found by its code and by its name, and shown with both", () => {
  expect(completeList("de", COUNTRIES)).toEqual([
    { value: "Germany", label: "DE: Germany" },
    { value: "Denmark", label: "Denmark (DK)" },
    { value: "Sweden", label: "Sweden (SE)" },
  ]);
  expect(completeList("Sweden, dk", COUNTRIES)).toEqual([
    { value: "Sweden, Denmark", label: "Sweden, DK: Denmark" },
  ]);
});

test.each([
  ["commas and semicolons", " a b, c; d ,;a b,", ["a b", "c", "d"]],
  ["lines and cells that were pasted", "a b\r\nc\td\n\n", ["a b", "c", "d"]],
])("a text has several values, each once: %s", (_, text, values) => {
  expect(readList(text)).toEqual(values);
});

test.each([
  ["as they were", "Q1;Q2, a,b, x", ["Q1;Q2", "a,b", "x"]],
  ["among others", "new;x ,a,b; Q1;Q2", ["new", "x", "a,b", "Q1;Q2"]],
  ["unless they were changed", "Q1; Q2, aa,b", ["Q1", "Q2", "aa", "b"]],
])("values that a text had before stay whole: %s", (_, text, values) => {
  expect(readList(text, ["x", "a,b", "Q1;Q2", "Q1;Q2;Q3"])).toEqual(values);
});

test("a text of words has them between spaces, too", () => {
  expect(readWords(" a, b;c\nd  e,,\r\na")).toEqual(["a", "b", "c", "d", "e"]);
});
