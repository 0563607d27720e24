/**
 * Goal: exactly the codes that clicks can have are accepted, and who uses another common one learns
 * which is right.
 */
import { expect, test } from "bun:test";

import codes from "i18n-iso-countries/codes.json";

import { findCountryProblem, isCountry, UNKNOWN_COUNTRY } from "./countries.ts";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ".split("");

test("the countries are those of ISO 3166-1, as a library lists them with Kosovo", () => {
  const all = LETTERS.flatMap((first) => LETTERS.map((second) => `${first}${second}`));
  expect(all.filter(isCountry)).toEqual(codes.map(([code = ""]) => code).toSorted());
});

test.each([
  // Names of these are known, but no visitor comes from there.
  ["EU", "EU is no country of ISO 3166-1; ZZ stands for an unknown one"],
  ["DE", undefined],
  ["XK", undefined],
  [UNKNOWN_COUNTRY, undefined],
])("of %s it is said %p", (code, problem) => {
  expect(findCountryProblem(code)).toBe(problem);
});
