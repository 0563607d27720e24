/**
 * `bun clients/cli/build.ts`: makes one file of the command line with all that it imports, for any
 * Node that its package names.
 */
import { chmodSync } from "node:fs";
import { join } from "node:path";

/** The built command line. */
export const BUILT = join(import.meta.dir, "dist/shorthop.mjs");

export async function buildCli(): Promise<void> {
  const { outputs } = await Bun.build({
    entrypoints: [join(import.meta.dir, "src/main.ts")],
    target: "node",
    format: "esm",
    minify: { syntax: true, whitespace: true },
  });
  const text = await outputs[0]?.text();
  if (text === undefined) throw new Error("Nothing was built.");
  await Bun.write(BUILT, text);
  chmodSync(BUILT, 0o755);
}

if (import.meta.main) await buildCli();
