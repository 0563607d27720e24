/**
 * Goal: the Python client is that of this API, has what the TypeScript client has, and does with
 * responses what it says. What needs Python or mypy says so where there is none.
 */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { listFunctions } from "../../test/harness/client-functions.ts";
import { PYTHON } from "../../test/harness/python.ts";
import { createClient } from "../typescript/src/index.ts";
import { generatePackage, PACKAGE, RESOURCES } from "./generate.ts";

const MYPY = "/usr/bin/mypy";

test("what is generated matches the API", async () => {
  for (const [path, text] of await generatePackage())
    expect([path, readFileSync(join(PACKAGE, path), "utf8") === text]).toEqual([path, true]);
});

test("it has the functions of the TypeScript client, in snake case", () => {
  const functions = Object.entries(RESOURCES).flatMap(([resource, names]) =>
    Object.keys(names).map((name) => `${resource}.${name}`.replace("limits.get", "limits")),
  );
  const typeScript = listFunctions(createClient({ baseUrl: "http://localhost" })).map((name) =>
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  );
  expect(functions.toSorted()).toEqual(typeScript.toSorted());
});

describe("with Python", () => {
  test.skipIf(PYTHON === undefined)("its own tests pass", () => {
    const { exitCode, stderr } = Bun.spawnSync([PYTHON ?? "", "-m", "unittest", "-q"], {
      cwd: join(import.meta.dir, "tests"),
      env: { ...process.env, PYTHONPATH: "../src", PYTHONDONTWRITEBYTECODE: "1" },
    });
    expect([exitCode, stderr.toString()]).toEqual([0, expect.stringContaining("OK")]);
  });

  test.skipIf(!existsSync(MYPY))("its types are complete by mypy's strict rules", () => {
    const check = [MYPY, "--cache-dir=/dev/null", "src/shorthop"];
    const { exitCode, stdout } = Bun.spawnSync(check, { cwd: import.meta.dir });
    expect([exitCode, stdout.toString()]).toEqual([0, expect.stringContaining("Success")]);
  });
});
