/** Goal: a downloaded report has all that it says. */
import { expect, test } from "bun:test";

import { toTable } from "./reports-page.tsx";

test("a table has every total and every entry of a report, under its title", () => {
  const table = toTable({
    title: "Numbers: March 2 – 8, 2026",
    subject: "All links",
    totals: [{ label: "Clicks", text: "12 (as before)" }],
    lists: [
      { title: "Countries", rows: [{ name: "Germany", url: null, number: "10" }] },
      { title: "Referrers", rows: [{ name: "Direct", url: null, number: "1,200" }] },
    ],
    note: "Days of UTC.",
  });
  expect(table).toEqual([
    ["Numbers: March 2 – 8, 2026", "", ""],
    ["Clicks", "", "12 (as before)"],
    ["Countries", "Germany", "10"],
    ["Referrers", "Direct", "1,200"],
  ]);
});
