/**
 * `npm run build`: compiles the client to `dist`, as ES modules and as CommonJS, each with its own
 * type declarations. `npm pack` and `npm publish` run it. Runs on Node with the compiler of this
 * repository.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const COMPILER = createRequire(import.meta.url).resolve("typescript/bin/tsc");

/** A package.json in each folder says which kind of module its files are. */
const FORMATS = [
  { folder: "esm", type: "module", options: [] },
  {
    folder: "cjs",
    type: "commonjs",
    options: ["--module", "commonjs", "--moduleResolution", "node10"],
  },
];

rmSync(join(HERE, "dist"), { recursive: true, force: true });
for (const { folder, type, options } of FORMATS) {
  const out = join(HERE, "dist", folder);
  execFileSync(process.execPath, [COMPILER, "-p", HERE, "--outDir", out, ...options], {
    stdio: "inherit",
  });
  mkdirSync(out, { recursive: true });
  writeFileSync(join(out, "package.json"), `${JSON.stringify({ type })}\n`);
}
