/** Goal: a local stack that is not wanted any more leaves no data behind, wherever it had it. */
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { fallbackFolder } from "./postgres.ts";

test("npm start -- --remove removes all stored data, also root's beside the folder, and ends", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "shorthop-remove-"));
  const isRoot = process.getuid?.() === 0;
  const outside = isRoot ? fallbackFolder(join(dataDir, "postgres")) : undefined;
  for (const folder of ["postgres", "journal", "bin"]) mkdirSync(join(dataDir, folder));
  writeFileSync(join(dataDir, "secrets.json"), "{}");
  if (outside !== undefined) mkdirSync(outside, { recursive: true });
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "main.ts"), "--remove"], {
    env: { ...process.env, SHORTHOP_DATA_DIR: dataDir },
    stdio: ["ignore", "pipe", "inherit"],
  });
  expect(await new Response(child.stdout).text()).toContain("Removed all stored data");
  expect(await child.exited).toBe(0);
  // Downloaded programs are not data.
  expect(readdirSync(dataDir)).toEqual(["bin"]);
  if (outside !== undefined) expect(existsSync(outside)).toBe(false);
  rmSync(dataDir, { recursive: true });
});
