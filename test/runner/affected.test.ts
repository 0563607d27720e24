/** Goal: while one works on a part, the tests that can see the change run, and few others. */
import { expect, test } from "bun:test";

import { findSeers, viewOf } from "./affected.ts";

const E2E = [
  "dashboard",
  "propagation",
  "click-limits",
  "shared-statistics",
  "main-job",
  "metrics",
].map((name) => `test/e2e/${name}.test.ts`);
const UNIT = [
  "redirector/redirect/redirector.test.ts",
  "api/compat/serve.test.ts",
  "shared/ids.test.ts",
];

const views = [...UNIT, ...E2E].map(viewOf);
const seersOf = (path: string) =>
  findSeers(path, views).map((test) => test.replace("test/e2e/", ""));

test.each([
  [
    "a page of the dashboard: those with a browser",
    "dashboard/src/app.tsx",
    ["dashboard.test.ts", "main-job.test.ts"],
  ],
  [
    "a module of the redirector: its unit tests, and those that follow links",
    "redirector/redirect/redirector.ts",
    [
      "redirector/redirect/redirector.test.ts",
      "dashboard.test.ts",
      "propagation.test.ts",
      "click-limits.test.ts",
      "shared-statistics.test.ts",
      "main-job.test.ts",
      "metrics.test.ts",
    ],
  ],
  [
    "a resource of the API: those that speak of it",
    "api/shares/service.ts",
    ["shared-statistics.test.ts", "main-job.test.ts"],
  ],
  [
    "a configuration: those that name it",
    "deploy/monitoring/alerts.yaml",
    ["main-job.test.ts", "metrics.test.ts"],
  ],
  ["a page that no test reads: none", "docs/nothing-reads-this.md", []],
  ["a test: itself", "test/e2e/propagation.test.ts", ["propagation.test.ts"]],
])("a change is seen by tests: %s", (_, path, expected) => {
  expect(seersOf(path).toSorted()).toEqual(expected.toSorted());
});

test("a change of what all import is seen by all", () => {
  expect(seersOf("shared/ids.ts")).toHaveLength(views.length);
});

test("a file of the product that no test sees is a reason to run all", () => {
  expect(seersOf("deploy/new.conf")).toHaveLength(views.length);
});
