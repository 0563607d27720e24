/** Goal: the page about drills says of each cell what its code promises. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { PROJECT_DIR } from "../harness/stack.ts";
import { expectedRows, readRows } from "../scenarios/drills-page.ts";
import { CONDITIONS, nameOf, SUBJECTS } from "../scenarios/faults/drills/cell.ts";
import { CELLS, NOT_APPLICABLE } from "../scenarios/faults/drills/cells.ts";
import { DRILL_PROTECTIONS } from "../scenarios/protections.ts";
import { ALERTS } from "../scenarios/topologies/listener.ts";

test("everything that can come back in every state has a cell or a reason why not, and not both", () => {
  for (const subject of SUBJECTS)
    for (const condition of CONDITIONS) {
      const cells = CELLS.filter((cell) => nameOf(cell) === nameOf({ subject, condition }));
      const reasons = NOT_APPLICABLE[subject]?.[condition] === undefined ? 0 : 1;
      expect([nameOf({ subject, condition }), cells.length + reasons]).toEqual([
        nameOf({ subject, condition }),
        1,
      ]);
    }
});

test("docs/drills.md has a row for each, with what its cell promises", () => {
  const rows = readRows().map(({ what, condition, promise }) => ({ what, condition, promise }));
  expect(rows).toEqual(expectedRows());
});

test("each protection is on the page with the cell that then fails", () => {
  const page = readFileSync(join(PROJECT_DIR, "docs/drills.md"), "utf8").replaceAll(/\s+/g, " ");
  for (const [name, protection] of Object.entries(DRILL_PROTECTIONS)) {
    expect(CELLS.map(nameOf)).toContain(protection.scenario);
    expect(page).toContain(`- \`${name}\` (${protection.scenario}): ${protection.does}`);
  }
});

test("alerts that a drill looks for exist", () => {
  const alerts = readFileSync(join(import.meta.dir, "../../deploy/monitoring/alerts.yaml"), "utf8");
  for (const alert of Object.keys(ALERTS)) expect(alerts).toContain(`alert: ${alert}\n`);
});
