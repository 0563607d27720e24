/**
 * `npm run build`: compiles the client to `dist`, as ES modules and as CommonJS, each with its own
 * type declarations. `npm pack` and `npm publish` run it. Runs on Node with the compiler of this
 * repository.
 */
import { execFile } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

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
await Promise.all(
  FORMATS.map(async ({ folder, type, options }) => {
    const out = join(HERE, "dist", folder);
    const compile = [COMPILER, "-p", HERE, "--outDir", out, ...options];
    await promisify(execFile)(process.execPath, compile).catch(({ stdout, message }) => {
      throw new Error(`${message}\n${stdout}`);
    });
    mkdirSync(out, { recursive: true });
    writeFileSync(join(out, "package.json"), `${JSON.stringify({ type })}\n`);
  }),
);
