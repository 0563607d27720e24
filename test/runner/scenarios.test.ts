/** Goal: whatever `npm test` leaves to scenarios is run for the changes that can break it. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { applyMutation } from "../harness/mutations.ts";
import { FAULT_SCENARIOS } from "../scenarios/fault-scenarios.ts";
import { LOCAL_FAULTS } from "../scenarios/faults/local.ts";
import { PROTECTIONS } from "../scenarios/protections.ts";
import { isTouched } from "../scenarios/scenario.ts";
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

test("each protection can be removed, and names faults or tests of its scenario", () => {
  for (const [name, protection] of Object.entries(PROTECTIONS)) {
    expect(() => applyMutation(ROOT, protection), name).not.toThrow();
    const { faults = [], tests = "" } = protection;
    const isItsOwn = (one: { name: string }): boolean => one.name === protection.scenario;
    const faultNames = FAULT_SCENARIOS.find(isItsOwn)?.faultNames ?? [];
    expect(faultNames, name).toEqual(expect.arrayContaining([...faults]));
    const texts =
      SCENARIOS.find(isItsOwn)?.files.map((file) => readFileSync(join(ROOT, file), "utf8")) ?? [];
    expect(faultNames.length + texts.length, name).toBeGreaterThan(0);
    expect(texts.join(""), name).toContain(tests);
  }
});

const touchedBy = (...changed: string[]): string[] =>
  LOCAL_FAULTS.filter((fault) => fault.isOnlyForChanges === true && isTouched(fault, changed)).map(
    ({ name }) => name,
  );

test("the short form ends each process and each store, and adds what a change can touch", () => {
  const always = LOCAL_FAULTS.filter((fault) => fault.isOnlyForChanges !== true);
  expect(always.map(({ name }) => name).join(", ")).toMatch(
    /redirector.*api.*worker.*clickhouse.*postgres.*nats/,
  );
  expect(touchedBy("worker/consumer/clicks-stream.ts")).toContain("fill stream");
  expect(touchedBy("worker/batches/owner.ts")).toContain("pause owner before check");
  expect(touchedBy("worker/batches/owner.ts")).not.toContain("fill stream");
  expect(touchedBy("redirector/journal/journal.ts")).toContain("kill second redirector");
  expect(touchedBy("redirector/links/follower.ts")).toEqual(["kill nats", "pause nats"]);
  expect(touchedBy("dashboard/src/app.tsx", "worker/metrics.test.ts")).toEqual([]);
  expect(touchedBy("test/scenarios/faults/batches.ts")).toHaveLength(
    LOCAL_FAULTS.length - always.length,
  );
});

test("what faults exercise are files and folders that exist", () => {
  const places = LOCAL_FAULTS.flatMap(({ exercises = [] }) => exercises);
  expect(places.filter((place) => !existsSync(join(ROOT, place)))).toEqual([]);
});
