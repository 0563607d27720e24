/**
 * Goal: the rows of one request leave turns of the event loop to others, and an error of one is not
 * lost.
 */
import { expect, test } from "bun:test";

import { ApiError } from "../http/errors.ts";
import { prepareAll } from "./results.ts";

/** Keeps the event loop busy, as the validation of a row with many rules does. */
function spend(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

test("others have their turn between rows that take long, and results keep their order", async () => {
  const seen: number[] = [];
  let prepared = 0;
  let isRunning = true;
  const look = (): void => {
    seen.push(prepared);
    if (isRunning) setImmediate(look);
  };
  setImmediate(look);
  const rows = Array.from({ length: 10 }, (_, row) => ({ row }));
  const results = await prepareAll(rows, async ({ row }) => {
    spend(6);
    prepared++;
    return { row };
  });
  isRunning = false;
  expect(results).toEqual(rows);
  // A row takes more than a turn may, so that each waits for the next.
  expect(new Set(seen).size).toBeGreaterThanOrEqual(9);
});

const rowsOf = (...rows: number[]) => rows.map((row) => ({ row }));

async function prepareOrFail({ row }: { row: number }): Promise<{ row: number }> {
  spend(6);
  if (row === 0) throw new ApiError("invalid_request", "Wrong.");
  if (row === 1) throw new Error("Broken.");
  return { row };
}

test("an error fails its row, and one that is not the client's fault the request, though others follow", async () => {
  expect(await prepareAll(rowsOf(0, 2, 3), prepareOrFail)).toMatchObject([
    { error: { reason: "invalid_request" } },
    { row: 2 },
    { row: 3 },
  ]);
  const broken: unknown = await prepareAll(rowsOf(1, 2, 3, 4), prepareOrFail).catch(
    (error: unknown) => error,
  );
  expect(broken).toMatchObject({ message: "Broken." });
});
