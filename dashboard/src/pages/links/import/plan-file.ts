/** Plans all rows of a file without blocking the page. */
import type { ImportItem, PlanInput } from "./model.ts";
import type { FileRow } from "./parse-rows.ts";
import { createPlanner } from "./plan.ts";

/** Rows planned in one turn of the event loop: some 20 ms. */
const TURN_ROWS = 1_000;

/** Returns the links of the rows, in their order. Rejects when the signal is aborted. */
export async function planRows(
  rows: readonly FileRow[],
  input: PlanInput,
  signal?: AbortSignal,
): Promise<ImportItem[]> {
  const planRow = createPlanner(input);
  const items: ImportItem[] = [];
  for (const [index, row] of rows.entries()) {
    if (index % TURN_ROWS === TURN_ROWS - 1) {
      await new Promise((resolve) => setTimeout(resolve));
      signal?.throwIfAborted();
    }
    items.push(...planRow(row, index));
  }
  return items;
}
