/**
 * Goal: errors that anybody can cause do not fill a disk, and nothing that was received gets into a
 * log.
 */
import { expect, test } from "bun:test";

import pino from "pino";

import { LimitedLog, LINES_PER_MINUTE, processLog } from "./log.ts";

test("an error is logged without the row that a database quotes in its detail", () => {
  const lines: string[] = [];
  const log = processLog("test", "info", { write: (line) => void lines.push(line) });
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

test("lines per reason and minute are limited, and suppressed ones are counted", () => {
  const lines: string[] = [];
  let time = 0;
  const limited = new LimitedLog(
    pino({}, { write: (line) => void lines.push(line) }),
    "connection_failed",
    () => time,
  );
  const failed = new TypeError("https://example.com/?secret of 203.0.113.9");
  for (let i = 0; i < 1_000; i++) limited.error("request", failed);
  expect(lines).toHaveLength(LINES_PER_MINUTE);
  limited.error("socket", failed);
  expect(lines).toHaveLength(LINES_PER_MINUTE + 1);
  time = 60_000;
  limited.error("request", failed);
  expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({
    reason: "request",
    suppressed: 1_000 - LINES_PER_MINUTE,
    error_name: "TypeError",
  });
  expect(lines.join("")).not.toMatch(/secret|203\.0\.113/);
  expect(lines.join("")).toContain("log.test.ts");
  limited.error("request", "203.0.113.9");
  expect(lines.join("")).not.toContain("203.0.113");
});
