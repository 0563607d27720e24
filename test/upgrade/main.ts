/**
 * `bun run test:upgrade [--repository PATH]`: runs the program before batches with clicks in
 * flight, kills it, and goes on with this one on the same data. Nothing may be lost or counted
 * twice. The old program is taken from the history of the repository; where it is missing, as in an
 * archive or a shallow clone, nothing is tested.
 */
import { parseArgs } from "node:util";

import { EXIT_UNEQUAL, UnequalError } from "../chaos/targets.ts";
import { PROJECT_DIR } from "../harness/stack.ts";
import { extractProgramBefore } from "./old-program.ts";
import { runUpgrade } from "./run.ts";

/** What the last program whose workers inserted each segment by itself had not. */
const BATCHES = "worker/batches/owner.ts";

const { values } = parseArgs({
  options: { repository: { type: "string", default: PROJECT_DIR } },
});
const old = extractProgramBefore(values.repository, BATCHES);
if (old === undefined) {
  console.error(`
NOT TESTED: the version before ${BATCHES}
is not in the history of this checkout. "git fetch --unshallow" may bring it.
`);
  process.exit(0);
}
try {
  await runUpgrade(old.root, console.log);
} catch (error) {
  console.error(error);
  process.exitCode = error instanceof UnequalError ? EXIT_UNEQUAL : 1;
} finally {
  old.remove();
}
process.exit();
