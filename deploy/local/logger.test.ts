import { expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";

import { dirForFile } from "../../test/harness/for-file.ts";
import { isWorthPrinting, Logger } from "./logger.ts";

const logDir = dirForFile("shorthop-logs-");

test("a process's JSON log line is printed in readable form after its name, and stored unchanged in its log file", () => {
  const printed: string[] = [];
  const logger = new Logger(logDir, false, (text) => printed.push(text));
  const line =
    '{"level":"warn","time":"2026-11-21T01:02:03.000Z","process":"api","left":3,"event":"retrying"}';
  logger.logProcess("api", line);
  expect(printed.join("")).toMatch(/^api {8}│ \[01:02:03\] WARN: retrying \{"left":3\}\n$/);
  expect(readFileSync(join(logDir, "api.log"), "utf8")).toBe(`${line}\n`);
  expect(logger.lastLines("api")).toEqual([line]);
});

test.each([
  ["postgres", "2026-11-21 UTC [1] LOG:  checkpoint starting", false],
  ["postgres", "2026-11-21 UTC [1] FATAL:  out of shared memory", true],
  ["postgres", "2026-11-21 UTC [1] FATAL:  the database system is starting up", false],
  ["nats", "[1] 2026/11/21 [INF] Server is ready", false],
  ["nats", "[1] 2026/11/21 [ERR] disk full", true],
  ["api", "anything", true],
])("a line of %s, %p, is printed: %p", (name, line, expected) => {
  expect(isWorthPrinting(name, line)).toBe(expected);
});

test("a log file that grows too large is truncated while its process keeps writing", () => {
  const logger = new Logger(logDir, false, () => undefined);
  const mebibyte = "x".repeat(2 ** 20);
  for (let i = 0; i < 25; i++) logger.logProcess("nats", mebibyte);
  const { size } = statSync(join(logDir, "nats.log"));
  expect(size).toBeGreaterThan(2 ** 20);
  expect(size).toBeLessThan(12 * 2 ** 20);
});
