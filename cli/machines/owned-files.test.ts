/**
 * Goal: where another user may write, root writes the right file, and that user leads it nowhere
 * else. Method: real files; the user is `nobody`, for which the tests need root.
 */
import { beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { dirForEach } from "../../test/harness/for-file.ts";
import { Host } from "./host.ts";
import { replaceFile } from "./owned-files.ts";
import { filesStep } from "./setup/files.ts";
import { Mask } from "./setup/secrets.ts";
import { runSteps } from "./setup/step.ts";

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

const root = dirForEach("shorthop-owned-");
beforeEach(() => {
  chmodSync(root(), 0o755);
  mkdirSync(join(root(), "theirs"));
  mkdirSync(join(root(), "ours"));
  writeFileSync(join(root(), "ours/target"), "ours\n", { mode: 0o644 });
  if (isRoot) chownSync(join(root(), "theirs"), NOBODY, NOBODY);
});

const read = (path: string): string => readFileSync(join(root(), path), "utf8");

/** Links a name of theirs to something of ours. */
function plant(name: string, target: string): void {
  const link = join(root(), "theirs", name);
  symlinkSync(join(root(), target), link);
  if (isRoot) lchownSync(link, NOBODY, NOBODY);
}

/** Runs a step of setup that writes a file of theirs. */
const write = (path: string, content = "right\n"): Promise<number> =>
  runSteps(
    [
      filesStep("theirs", new Host(process.env, root()), new Mask({}), () => [
        { path: `/theirs/${path}`, content },
      ]),
    ],
    { dryRun: false, print: () => undefined },
  );

test("the file is replaced as a whole, and its folder made", () => {
  const path = join(root(), "collector/shorthop.prom");
  replaceFile(path, "first\n", { mode: 0o644 });
  replaceFile(path, "second\n", { mode: 0o640 });
  expect(readFileSync(path, "utf8")).toBe("second\n");
  expect(lstatSync(path).mode & 0o777).toBe(0o640);
  expect(readdirSync(join(root(), "collector"))).toEqual(["shorthop.prom"]);
});

test("a write that fails leaves nothing beside the file", () => {
  mkdirSync(join(root(), "ours/folder/full"), { recursive: true });
  expect(() => replaceFile(join(root(), "ours/folder"), "x", { mode: 0o644 })).toThrow();
  expect(readdirSync(join(root(), "ours")).toSorted()).toEqual(["folder", "target"]);
});

test.each(["pg_hba.conf", "pg_hba.conf.new"])(
  "a link at %s is not followed: the right file is written, and what it leads to stays",
  async (name) => {
    plant(name, "ours/target");
    expect(await write("pg_hba.conf")).toBe(1);
    expect(read("ours/target")).toBe("ours\n");
    expect(lstatSync(join(root(), "theirs/pg_hba.conf")).isFile()).toBe(true);
    expect(read("theirs/pg_hba.conf")).toBe("right\n");
  },
);

describe.skipIf(!isRoot)("as root", () => {
  test("a file in another user's folder is that user's, also in folders that are missing", async () => {
    await write("conf.d/shorthop.conf");
    for (const name of ["conf.d", "conf.d/shorthop.conf"])
      expect(lstatSync(join(root(), "theirs", name)).uid).toBe(NOBODY);
    expect(process.geteuid?.()).toBe(0);
  });

  test("a folder that its owner may only read is written to, and stays so", async () => {
    mkdirSync(join(root(), "theirs/users.d"));
    chownSync(join(root(), "theirs/users.d"), NOBODY, NOBODY);
    chmodSync(join(root(), "theirs/users.d"), 0o500);
    expect(await write("users.d/shorthop.xml")).toBe(1);
    expect(read("theirs/users.d/shorthop.xml")).toBe("right\n");
    expect(lstatSync(join(root(), "theirs/users.d")).mode & 0o777).toBe(0o500);
  });

  test("a folder that leads to one of root's is not written to", async () => {
    plant("conf.d", "ours");
    expect(write("conf.d/shorthop.conf")).rejects.toThrow("EACCES");
    await write("other.conf");
    expect(readdirSync(join(root(), "ours"))).toEqual(["target"]);
    expect(process.geteuid?.()).toBe(0);
  });

  test("what a link leads to is not read with the rights of root", async () => {
    chmodSync(join(root(), "ours/target"), 0o600);
    plant("pg_hba.conf", "ours/target");
    expect(write("pg_hba.conf")).rejects.toThrow("EACCES");
    await write("other.conf");
    expect(readdirSync(join(root(), "theirs")).toSorted()).toEqual(["other.conf", "pg_hba.conf"]);
  });
});
