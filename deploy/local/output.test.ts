import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createOutput, isWorthShowing } from "./output.ts";

test("a process's JSON line is shown readable behind its name, and kept raw in its log file", () => {
  const logDir = mkdtempSync(join(tmpdir(), "shorthop-output-"));
  const shown: string[] = [];
  const output = createOutput({ logDir, colour: false, write: (text) => shown.push(text) });
  const line =
    '{"level":"warn","time":"2026-11-21T01:02:03.000Z","process":"api","left":3,"event":"retrying"}';
  output.line("api", line);
  expect(shown.join("")).toMatch(/^api {8}│ \[01:02:03\] WARN: retrying \{"left":3\}\n$/);
  expect(readFileSync(join(logDir, "api.log"), "utf8")).toBe(`${line}\n`);
  expect(output.last("api")).toEqual([line]);
  rmSync(logDir, { recursive: true });
});

test.each([
  ["postgres", "2026-11-21 UTC [1] LOG:  checkpoint starting", false],
  ["postgres", "2026-11-21 UTC [1] FATAL:  out of shared memory", true],
  ["postgres", "2026-11-21 UTC [1] FATAL:  the database system is starting up", false],
  ["nats", "[1] 2026/11/21 [INF] Server is ready", false],
  ["nats", "[1] 2026/11/21 [ERR] disk full", true],
  ["api", "anything", true],
])("of %s, %p is shown: %p", (name, line, expected) => {
  expect(isWorthShowing(name, line)).toBe(expected);
});
