import { expect, test } from "bun:test";

import { createLog } from "./log.ts";

test("an error is logged without the row that a database quotes in its detail", () => {
  const lines: string[] = [];
  const log = createLog("test", "info", { write: (line) => void lines.push(line) });
  const error = Object.assign(new Error("violates a constraint"), {
    code: "23514",
    detail: "Failing row contains (secret)",
  });
  log.warn({ error }, "insert_failed");
  const [line = ""] = lines;
  expect(JSON.parse(line)).toMatchObject({
    event: "insert_failed",
    error: { type: "Error", message: "violates a constraint", code: "23514" },
  });
  expect(line).not.toContain("secret");
});
