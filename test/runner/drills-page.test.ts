/** Goal: the page about drills says of each drill what its code promises. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { PROJECT_DIR } from "../harness/stack.ts";
import { expectedRows, readRows } from "../scenarios/drills-page.ts";
import { DRILLS } from "../scenarios/drills.ts";
import { DRILL_PROTECTIONS } from "../scenarios/protections.ts";
import { ALERTS } from "../scenarios/topologies/listener.ts";

test("docs/drills.md has a row for each, with what its drill promises", () => {
  const rows = readRows().map(({ what, condition, promise }) => ({ what, condition, promise }));
  expect(rows).toEqual(expectedRows());
});

test("each protection is on the page with the drill that then fails", () => {
  const page = readFileSync(join(PROJECT_DIR, "docs/drills.md"), "utf8").replaceAll(/\s+/g, " ");
  for (const [name, protection] of Object.entries(DRILL_PROTECTIONS)) {
    expect(DRILLS.map((drill) => drill.name)).toContain(protection.scenario);
    expect(page).toContain(`- \`${name}\` (${protection.scenario}): ${protection.does}`);
  }
});

test("alerts that a drill looks for exist", () => {
  const alerts = readFileSync(join(import.meta.dir, "../../deploy/monitoring/alerts.yaml"), "utf8");
  for (const alert of Object.keys(ALERTS)) expect(alerts).toContain(`alert: ${alert}\n`);
});
