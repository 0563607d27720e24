/** Goal: whatever `npm test` leaves to scenarios is run for the changes that can break it. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";

import { SCENARIOS } from "../scenarios/scenarios.ts";
import { findFiles } from "./lanes.ts";
import { matching, type Scenario, selectAffected } from "./scenarios.ts";

const ROOT = join(import.meta.dir, "../..");

const scenario = (name: string, seconds: number, ...paths: string[]): Scenario => ({
  name,
  seconds,
  paths,
  files: [`test/scenarios/${name}.test.ts`],
  proves: "",
});

test("each file of test/scenarios is one of a scenario, whose files exist", () => {
  const listed = SCENARIOS.flatMap(({ files }) => files);
  expect(findFiles(["test/scenarios"], []).filter((file) => !listed.includes(file))).toEqual([]);
  for (const file of listed) expect([file, existsSync(join(ROOT, file))]).toEqual([file, true]);
  const names = SCENARIOS.map(({ name }) => name);
  expect(names.toSorted()).toEqual([...new Set(names)].toSorted());
});

test("each path of a scenario matches files", () => {
  const none = SCENARIOS.flatMap(({ name, paths }) =>
    paths
      .filter((path) => [...new Bun.Glob(path).scanSync(ROOT)].length === 0)
      .map((path) => `${name}: ${path}`),
  );
  expect(none).toEqual([]);
});

test("a change selects the scenarios that speak of it, or are it, first those that speak of least", () => {
  const tracked = ["worker/a.ts", "worker/b.ts", "api/c.ts"];
  const [wide, narrow, short] = [
    scenario("wide", 5, "worker/**", "api/**"),
    scenario("narrow", 20, "worker/a.ts"),
    scenario("short", 10, "{worker,shared}/a.ts"),
  ];
  const of = (...changed: string[]) =>
    selectAffected([wide, narrow, short], changed, tracked).map(({ name }) => name);
  expect(of("worker/a.ts")).toEqual(["short", "narrow", "wide"]);
  expect(of("worker/b.ts")).toEqual(["wide"]);
  expect(of("docs/d.md")).toEqual([]);
  expect(of("test/scenarios/narrow.test.ts")).toEqual(["narrow"]);
  expect(matching(wide, [...tracked, "docs/d.md"])).toEqual(tracked);
});
