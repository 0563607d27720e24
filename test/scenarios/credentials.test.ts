/**
 * Goal: files with secrets that the documents' commands make are private, as docs/credentials.md
 * says. What each user of a store may do there is in the tests beside this one.
 */
import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

import { readBlock } from "../boot/install.ts";
import { dirForFile } from "../harness/for-file.ts";
import { PROJECT_DIR } from "../harness/stack.ts";

const dir = dirForFile("shorthop-credentials-");

/** Permissions of a file, in octal. */
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

/** Runs a named block in a folder that stands for the root of the file system. */
function runBlock(root: string, file: string, name: string): void {
  const here = readBlock(name, file)
    .replaceAll("/usr/share/shorthop", join(PROJECT_DIR, "deploy"))
    .replaceAll(/(?<![\w.])\/(root|etc)\//g, `${root}/$1/`)
    // Services and their groups are not installed on this machine.
    .replaceAll(/^systemctl .*$/gm, "")
    .replaceAll("--group=nats ", "");
  const { exitCode, stderr } = Bun.spawnSync(["bash", "-euc", `umask 022\n${here}`]);
  expect([name, exitCode, stderr.toString()]).toEqual([name, 0, expect.any(String)]);
}

test("nobody but root reads secrets, and NATS its own", () => {
  const root = join(dir, "one");
  for (const folder of ["root", "etc/systemd/system"])
    mkdirSync(join(root, folder), { recursive: true });
  runBlock(root, "installing-by-hand.md", "secrets");
  expect(modeOf(join(root, "root/shorthop.secrets"))).toBe("600");
  runBlock(root, "installing-by-hand.md", "nats");
  const nats = join(root, "etc/shorthop/nats");
  expect(modeOf(nats)).toBe("750");
  const files = readdirSync(nats);
  expect(files).toContain("passwords.conf");
  expect(files.map((name) => modeOf(join(nats, name)))).toEqual(files.map(() => "640"));
});

test("nobody but root reads the folder that is copied to three machines", () => {
  const root = join(dir, "three");
  mkdirSync(join(root, "root"), { recursive: true });
  runBlock(root, "three-machines.md", "secrets");
  expect(modeOf(join(root, "root/shorthop"))).toBe("700");
});
