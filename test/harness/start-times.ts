/** How long stacks took to start, for the run of tests that they belong to. */
import { appendFileSync } from "node:fs";

/** Names the file to which the processes of a run append, a line of JSON for each start. */
export const STARTS_VARIABLE = "SHORTHOP_TEST_STARTS";

/** Notes a start of a stack. */
export function noteStart(seconds: number): void {
  const path = process.env[STARTS_VARIABLE];
  // The file under test, or the runner for a stack that several share.
  const [by = "test/run.ts"] = /test\/e2e\/.*/.exec(Bun.main) ?? [];
  if (path !== undefined) appendFileSync(path, `${JSON.stringify({ by, seconds })}\n`);
}
