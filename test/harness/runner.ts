/**
 * A test runner that a test kills: starts a stack in the given data directory and an additional
 * redirector, prints `running`, and waits.
 */
import { startRedirector } from "./processes.ts";
import { startStack } from "./stack.ts";

const [dataDir = ""] = process.argv.slice(2);
const stack = await startStack({ dataDir });
await startRedirector(stack);
console.log("running");
await Bun.sleep(600_000);
