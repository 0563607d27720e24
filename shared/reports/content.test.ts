/** Goal: a report reads well in each language, whatever it is about. */
import { expect, test } from "bun:test";

import { REPORT_CONTENT } from "../../test/harness/report-content.ts";
import { REPORT_LANGUAGES } from "../contracts/report-schemas.ts";
import { CATALOGUES } from "../languages/catalogues.ts";
import { describeReport } from "./content.ts";

test("reports can be in every language that pages have", () => {
  expect(REPORT_LANGUAGES.toSorted()).toEqual(Object.keys(CATALOGUES).toSorted() as never);
});

test.each([
  [{}, "All links"],
  [{ tag: "spring" }, "Links with the tag “spring”"],
  [
    { link: { link_id: "link_1", short_url: "https://sho.rt/a", title: null } },
    "The link https://sho.rt/a",
  ],
  [{ link: { link_id: "link_1", short_url: null, title: null } }, "The link Deleted link"],
  [{ tag: "{name}" }, "Links with the tag “{name}”"],
])("%p is about: %s", (change, subject) => {
  expect(describeReport({ ...REPORT_CONTENT, ...change }).subject).toBe(subject);
});

test.each([
  [{ total: 1_312, before: 1_260, change: 4.1 }, "1,312 (+4.1 %, 1,260 before)"],
  [{ total: 5, before: 10, change: -50 }, "5 (-50 %, 10 before)"],
  [{ total: 5, before: 5, change: 0 }, "5 (as before)"],
  [{ total: 0, before: 0, change: null }, "0 (as before)"],
  [{ total: 5, before: 0, change: null }, "5 (none before)"],
])("%p is written as %s", (clicks, text) => {
  expect(describeReport({ ...REPORT_CONTENT, clicks }).totals[0]?.text).toBe(text);
});
