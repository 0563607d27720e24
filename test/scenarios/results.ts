/** Where results of scenarios are. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { PROJECT_DIR } from "../harness/stack.ts";
import type { Result } from "./parts.ts";

/** The file with the last result of a scenario, in a folder of the project. */
export const resultPath = (name: string, root = PROJECT_DIR): string =>
  join(root, "test/results/scenarios", `${name.replaceAll(/\W+/g, "-")}.json`);

export function writeResult(result: Result): void {
  const path = resultPath(result.name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify(result, undefined, 1));
}
