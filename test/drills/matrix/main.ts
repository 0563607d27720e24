/**
 * `bun run test:drills matrix [--links N] [--hold SECONDS] [--without PROTECTION …] [NAME …]`:
 * everything that can come back in every state, one cell after the other, each on a system of its
 * own. Names choose cells by a part of theirs (`NATS: empty`). Results replace those of the same
 * cells in `test/results/drills.json` and docs/drills.md. `--without` removes a protection (`all`:
 * one after the other), and passes if its cell then fails.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";

import { canMakeDisks } from "../../harness/disks.ts";
import { type Cell, nameOf } from "./cell.ts";
import { CELLS } from "./cells.ts";
import { canSetClocks } from "./clocks.ts";
import { type MutationOptions, MUTATIONS, runMutation } from "./mutations.ts";
import { writePage } from "./page.ts";
import { type CellResult, runCell } from "./run.ts";

const RESULTS = join(import.meta.dir, "../../results/drills.json");

/** Conditions that this machine must be able to bring about. */
const NEEDED: Partial<Record<Cell["condition"], () => boolean>> = {
  "disk full": canMakeDisks,
  "read-only": canMakeDisks,
  "clock an hour ahead": canSetClocks,
  "clock an hour behind": canSetClocks,
};

/** Runs the cells that the arguments choose; returns whether there are any, all as promised. */
export async function runMatrix(args: readonly string[]): Promise<boolean> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      links: { type: "string", default: "20000" },
      hold: { type: "string", default: "20" },
      without: { type: "string", multiple: true },
    },
  });
  if (values.without !== undefined) return await runMutations(values.without, values);
  const options = { links: Number(values.links), holdMs: Number(values.hold) * 1_000 };
  const chosen = CELLS.filter(
    (cell) => positionals.length === 0 || positionals.some((name) => nameOf(cell).includes(name)),
  );
  if (chosen.length === 0) {
    console.error(`No cell matches ${positionals.join(" or ")}.`);
    return false;
  }
  const results: CellResult[] = [];
  for (const cell of chosen) {
    console.log(`\n=== ${nameOf(cell)}`);
    if (NEEDED[cell.condition]?.() === false) continue;
    const result = await runCell(cell, options);
    console.log(result);
    results.push(result);
    record(result);
    writePage([result]);
  }
  console.table(
    results.map(({ cell, outcome, links, clicks, secondsUntilRight, problems }) => ({
      cell,
      outcome,
      links,
      ...clicks,
      secondsUntilRight,
      problems: problems.join("; "),
    })),
  );
  return results.every(({ outcome }) => outcome === "as promised");
}

/**
 * Runs the cells of these protections, or of `all`, each without its protection; returns whether
 * all fail.
 */
async function runMutations(
  protections: readonly string[],
  options: MutationOptions,
): Promise<boolean> {
  const names = protections.includes("all") ? Object.keys(MUTATIONS) : protections;
  const passed: string[] = [];
  for (const name of names) if (!(await runMutation(name, options))) passed.push(name);
  if (passed.length > 0) console.error(`Not proved: ${passed.join(", ")}`);
  return passed.length === 0;
}

/** Puts a result in place of the one before. */
function record(result: CellResult): void {
  const earlier: CellResult[] = existsSync(RESULTS)
    ? JSON.parse(readFileSync(RESULTS, "utf8"))
    : [];
  const results = [...earlier.filter(({ cell }) => cell !== result.cell), result];
  mkdirSync(dirname(RESULTS), { recursive: true });
  writeFileSync(RESULTS, JSON.stringify(results, undefined, 1));
}
