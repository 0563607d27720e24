/**
 * Goal: a field of values offers the known ones that fit what is being typed, and keeps what is
 * before.
 */
import { expect, test } from "bun:test";

import { completeList, type ListOption, readList, readWords } from "./complete-list.ts";

const TAGS: ListOption[] = ["mail", "Spring", "spring-sale", "offspring", "a,b"].map((name) => ({
  name,
}));
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
  ["by none that is there", "Spring, spr", ["Spring, spring-sale", "Spring, offspring"]],
  ["not to what it is", "mail, Spring", ["mail, spring-sale", "mail, offspring"]],
  ["and none has a comma", "", ["mail", "Spring", "spring-sale", "offspring"]],
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

test("a text is read as it is written, each value once", () => {
  expect(readList(" a, b ,,a,")).toEqual(["a", "b"]);
});

test("a text of words is read by commas, spaces and lines", () => {
  expect(readWords(" a, b\nc,,\r\n")).toEqual(["a", "b", "c"]);
});
