/**
 * Goal: the Python client as users install it: its wheel and its source distribution, each in a
 * clean environment, run the programs of the README as they stand there.
 */
import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { packPython } from "../../deploy/pack-clients.ts";
import { createAccount, UNLIMITED } from "../harness/admin.ts";
import { dirForFile, forFile } from "../harness/for-file.ts";
import { readFirstLines, run } from "../harness/packed-client.ts";
import { PYTHON } from "../harness/python.ts";
import { PROJECT_DIR, startStack } from "../harness/stack.ts";

const CLIENT_DIR = join(PROJECT_DIR, "clients/python");

const dir = dirForFile("shorthop-python-");
const stack = await forFile(startStack({ empty: true }));
const { key } = await createAccount(stack, "enterprise", UNLIMITED);
const env = { SHORTHOP_URL: stack.info().api_url, SHORTHOP_KEY: key };
const built = join(dir, "built");
mkdirSync(built);
if (PYTHON !== undefined) packPython(built, "1700000000");

/** The programs of the README by their names. */
const readPrograms = (): Map<string, string> =>
  new Map(
    Array.from(
      readFileSync(join(CLIENT_DIR, "README.md"), "utf8").matchAll(
        /```python (\S+)\n([\s\S]*?)```/g,
      ),
      ([, name = "", text = ""]) => [name, text],
    ),
  );

/** A new environment with a built package, whose other packages are those of the machine. */
function install(kind: string): string {
  const folder = join(dir, `venv${kind}`);
  const file = readdirSync(built).find((name) => name.endsWith(kind)) ?? "";
  run([PYTHON ?? "", "-m", "venv", "--system-site-packages", folder], dir);
  const python = join(folder, "bin/python");
  const offline = ["--no-index", "--no-deps", "--no-build-isolation", "--quiet"];
  run([python, "-m", "pip", "install", ...offline, join(built, file)], dir);
  return python;
}

describe.skipIf(PYTHON === undefined)("the package", () => {
  test.each([".whl", ".tar.gz"])(
    "installs from its %s, typed, and runs the README's programs",
    (kind) => {
      const python = install(kind);
      const typed =
        "import shorthop, pathlib; print((pathlib.Path(shorthop.__file__).parent / 'py.typed').exists())";
      expect(run([python, "-c", typed], dir).trim()).toBe("True");
      for (const [name, program] of readPrograms()) {
        writeFileSync(join(dir, name), program);
        expect(run([python, name], dir, env)).toStartWith(stack.info().short_url);
      }
    },
  );

  test("is installed and run by the first lines of its page, as they stand there", () => {
    const venv = join(dir, "first");
    run([PYTHON ?? "", "-m", "venv", "--system-site-packages", venv], dir);
    const [program = "", text = ""] = [...readPrograms()][0] ?? [];
    writeFileSync(join(dir, program), text);
    const lines = readFirstLines(
      "clients/python/README.md",
      env["SHORTHOP_URL"],
      env["SHORTHOP_KEY"],
    );
    const output = run(["sh", "-e", "-c", lines], dir, {
      PATH: `${venv}/bin:${process.env["PATH"]}`,
      PIP_NO_INDEX: "1",
      PIP_FIND_LINKS: join(dir, "built"),
    });
    expect(output).toContain(`${stack.info().short_url}/`);
  });
});
