/** What is wrong with a page for people with disabilities or small screens. */
import { createRequire } from "node:module";

import type { Page } from "playwright-core";
import * as z from "zod";

/** The script that a page must have before {@link runAxe}. */
export const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

const axeResult = z.object({
  violations: z.array(
    z.object({
      id: z.string(),
      impact: z.string().nullable(),
      nodes: z.array(z.object({ html: z.string() })),
    }),
  ),
});

/** Describing what passed takes longer than finding it out. */
const OPTIONS = JSON.stringify({ resultTypes: ["violations"] });

/** Lists what axe finds serious or critical, one line each. */
export async function runAxe(page: Page, where: string): Promise<string[]> {
  const { violations } = axeResult.parse(
    await page.evaluate(`axe.run(${OPTIONS}).then(({ violations }) => ({ violations }))`),
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${where}: ${id}: ${html}`));
}

/** Lists pixels by which a page is wider than the screen. */
export async function findOverflow(page: Page, where: string): Promise<string[]> {
  const overflow = await page.evaluate(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth",
  );
  return overflow === 0 ? [] : [`${where}: ${String(overflow)} pixels too wide`];
}

/** Lists tables that have to be scrolled sideways to be read. */
export async function findCutTables(page: Page, where: string): Promise<string[]> {
  const cut = await page.evaluate(
    `[...document.querySelectorAll(".table-scroll")]
      .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).length`,
  );
  return cut === 0 ? [] : [`${where}: ${String(cut)} tables are cut`];
}
