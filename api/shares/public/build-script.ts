/**
 * A macro: runs when the API is bundled, or its source is loaded, and becomes the text that it
 * returns.
 */
import { join } from "node:path";

const ENTRY = join(import.meta.dir, "browser/enhance.ts");

/** Bundles the script of the page of shared statistics. Throws the bundler's message. */
export function buildScript(): string {
  const command = [process.execPath, "build", "--minify", "--format=iife", ENTRY];
  const { stdout, stderr, success } = Bun.spawnSync(command);
  if (!success) throw new Error(stderr.toString());
  return stdout.toString();
}
