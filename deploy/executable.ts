/**
 * The one executable of an installation: `shorthop api`, `shorthop worker` and `shorthop
 * redirector` run a process, anything else is a command of the operator. A link to it named
 * `shorthop-api` means `shorthop api`, and so on. One file instead of four, as most of each is the
 * runtime.
 */
import { basename } from "node:path";

const PROCESSES: Record<string, () => Promise<unknown>> = {
  api: () => import("../api/main.ts"),
  worker: () => import("../worker/main.ts"),
  redirector: () => import("../redirector/main.ts"),
};

const PREFIX = "shorthop-";

const name = basename(process.argv0);
const [, , word = ""] = process.argv;
const called = name.startsWith(PREFIX) ? PROCESSES[name.slice(PREFIX.length)] : undefined;
const named = Object.hasOwn(PROCESSES, word) ? PROCESSES[word] : undefined;

if (called !== undefined) {
  await called();
} else if (named !== undefined) {
  // Processes read their arguments from the third on, as from the command line of a source file.
  process.argv.splice(2, 1);
  await named();
} else {
  await import("../cli/main.ts");
}
