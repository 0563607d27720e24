import { expect } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { longTest } from "../../test/harness/property-runs.ts";
import { generateSchema, SCHEMA_PATH } from "./generate.ts";

longTest("the client's types match the API", async () => {
  const dir = mkdtempSync(join(tmpdir(), "shorthop-schema-"));
  const path = join(dir, "schema.ts");
  writeFileSync(path, await generateSchema());
  writeFileSync(join(dir, "bunfig.toml"), readFileSync(join(import.meta.dir, "../../bunfig.toml")));
  const formatter = Bun.spawn([process.execPath, "fmt", path], { cwd: dir });
  expect(await formatter.exited).toBe(0);
  expect(readFileSync(SCHEMA_PATH, "utf8")).toBe(readFileSync(path, "utf8"));
  rmSync(dir, { recursive: true });
});
