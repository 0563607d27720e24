/** Goal: files whose tests leave a stack undisturbed share one, and no others do. */
import { expect, test } from "bun:test";

import { findFiles, runsOfFiles } from "./lanes.ts";

test("a file that uses the runner's stack shares it; one that starts its own does not", () => {
  const runs = runsOfFiles(findFiles(["test/e2e"], []));
  const sharing = runs.filter((run) => run.sharesStack).map(({ name }) => name);
  expect(sharing).toContain("test/e2e/takedowns.test.ts");
  expect(sharing).toContain("test/e2e/dashboard.test.ts");
  expect(sharing).not.toContain("test/e2e/faults.test.ts");
});
