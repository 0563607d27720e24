/** Goal: a host whose links are not those of PostgreSQL is named, and no other one is. */
import { expect, test } from "bun:test";

import type { ProcessStatus } from "../../shared/status.ts";
import { describeHostCounts } from "./hosts.ts";

const statusOf = (host: string, links?: number): ProcessStatus => ({
  process: "redirector",
  instance: null,
  host,
  pid: 1,
  version: "1",
  started_at: "2026-01-01T00:00:00Z",
  status: "ready",
  parts: {},
  warnings: {},
  figures: links === undefined ? {} : { links },
});

test.each<[string, ProcessStatus[], string | undefined]>([
  ["hosts with all links", [statusOf("a", 10), statusOf("b", 12)], undefined],
  ["one that is not up to date", [statusOf("a")], undefined],
  [
    "one with too few, and one with too many, each once",
    [statusOf("a", 9), statusOf("a", 9), statusOf("b", 11), statusOf("c", 13)],
    "PostgreSQL has 10 links that redirect: a has 9, c has 13",
  ],
])("%s", (_, statuses, problem) => {
  expect(describeHostCounts(statuses, { least: 10, most: 12 })).toBe(problem);
});
