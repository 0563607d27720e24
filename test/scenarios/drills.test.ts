/**
 * Goal: whatever comes back older, empty or damaged, links lead where PostgreSQL says and clicks
 * are counted once. Two cells of `bun run test:drills matrix` that are over soon, and of which each
 * says what is wrong for as long as it is.
 */
import { expect, test } from "bun:test";

import { nameOf } from "../drills/matrix/cell.ts";
import { CELLS } from "../drills/matrix/cells.ts";
import { runCell } from "../drills/matrix/run.ts";

const SHORT = ["PostgreSQL: empty", "journal: one bit flipped"];

const LINKS = 300;
const HOLD_MS = 3_000;

test.each(SHORT)("%s: everything is as promised afterwards, and it is said", async (name) => {
  const cell = CELLS.find((one) => nameOf(one) === name);
  if (cell === undefined) throw new Error(`There is no cell "${name}".`);
  const { problems, clicks } = await runCell(cell, { links: LINKS, holdMs: HOLD_MS });
  expect(problems).toEqual([]);
  expect(clicks?.redirected).toBeGreaterThan(100);
});
