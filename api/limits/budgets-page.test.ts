/** Goal: operators read what the code does, and what it may cost them. */
import { expect, test } from "bun:test";

import { PLANS, RESOURCES } from "../../shared/budgets.ts";
import { loadOf, printBudgets, sumLoads } from "./budgets-page.ts";

/** The formatter widens the columns of tables. */
const unaligned = (text: string): string =>
  text.replaceAll(/ +\|/g, " |").replaceAll(/-{3,}/g, "---").replaceAll(/\| +/g, "| ");

test("the page of the budgets is what the table says: `bun run budgets > docs/budgets.md`", async () => {
  const page = await Bun.file(new URL("../../docs/budgets.md", import.meta.url)).text();
  expect(unaligned(page)).toBe(unaligned(printBudgets()));
});

test("a free account alone takes less than a quarter of a core of anything", () => {
  for (const resource of RESOURCES.filter((name) => name !== "disk"))
    for (const plan of PLANS)
      expect(loadOf(plan, resource)).toBeLessThan(plan === "free" ? 0.25 : 5);
});

test("all accounts together are compared with the machine", () => {
  const rows = sumLoads(["free", "free", "pro"], 4);
  expect(rows.map(({ plan, accounts }) => [plan, accounts])).toEqual([
    ["free", "2"],
    ["pro", "1"],
    ["business", "0"],
    ["enterprise", "0"],
    ["all", "3"],
  ]);
  const sum = 2 * loadOf("free", "clickhouse") + loadOf("pro", "clickhouse");
  expect(rows.at(-1)).toMatchObject({ clickhouse: `${sum.toFixed(2)} of 4 cores` });
});
