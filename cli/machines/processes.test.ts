/** Goal: commands about processes run those of the same version as the command line. */
import { expect, test } from "bun:test";
import { join } from "node:path";

import { commandOf } from "./processes.ts";

test("in the source tree, a process is its main module", () => {
  const main = join(import.meta.dir, "../../worker/main.ts");
  expect(commandOf("worker")).toEqual([process.execPath, main]);
});
