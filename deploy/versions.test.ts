/** Goal: all that a release consists of says that it is this version. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

import * as z from "zod";

import { version } from "../shared/version.ts";
import { run } from "./packages/run.ts";

const ROOT = join(import.meta.dir, "..");

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

const versioned = z.object({ version: z.string() });
const lockFile = versioned.extend({ packages: z.object({ "": versioned }) });
const openapi = z.object({ info: versioned });

const versionOf = (path: string): string => versioned.parse(JSON.parse(read(path))).version;

/** What has the version in a file of its own; the rest takes it from `package.json`. */
const FILES: readonly [name: string, read: () => string | undefined][] = [
  ["the TypeScript client", () => versionOf("clients/typescript/package.json")],
  ["the command line", () => versionOf("clients/cli/package.json")],
  ["the browser extension", () => versionOf("clients/extension/src/manifest.json")],
  [
    "the Python client",
    () => /^version = "(.*)"$/m.exec(read("clients/python/pyproject.toml"))?.[1],
  ],
  ["the lock file", () => versionOf("package-lock.json")],
  [
    "the package in the lock file",
    () => lockFile.parse(JSON.parse(read("package-lock.json"))).packages[""].version,
  ],
  [
    "the document of the API",
    () =>
      openapi.parse(JSON.parse(run([process.execPath, "api/print-openapi.ts"], ROOT))).info.version,
  ],
];

test.each(FILES)("%s has the version of the product", (_name, read) => {
  expect(read()).toBe(version);
});

test.each(["CHANGELOG.md", "clients/typescript/CHANGELOG.md"])(
  "the last release in %s is this version",
  (path) => {
    const [last] = Array.from(
      read(path).matchAll(/^## \[(\d.*?)\] - \d{4}-\d\d-\d\d$/gm),
      ([, name]) => name,
    );
    expect(last).toBe(version);
  },
);

test("the contract is that of the first release of this major version", () => {
  const released = gunzipSync(readFileSync(join(ROOT, "test/api/openapi-1.0.json.gz"))).toString();
  const [major] = version.split(".");
  expect(openapi.parse(JSON.parse(released)).info.version).toBe(`${major}.0.0`);
});
