/**
 * Goal: docs/input-bounds.md is correct: each bound it lists is in the file it names, with that
 * value.
 */
import { expect, test } from "bun:test";
import { join } from "node:path";

import { PROJECT_DIR } from "./harness/stack.ts";
import { readBounds } from "./hostile/cost/bounds.ts";

const collapseWhitespace = (text: string): string => text.replaceAll(/\s+/g, " ");

const bounds = await readBounds();

test("the page lists a bound for every part of the product", () => {
  expect(bounds.length).toBeGreaterThan(80);
  for (const folder of [
    "redirector/http",
    "redirector",
    "api/http",
    "api",
    "shared",
    "worker",
    "dashboard",
    "deploy",
  ])
    expect(bounds.some(({ file }) => file.startsWith(`${folder}/`))).toBe(true);
});

test("every bound is in the file that the page names, with the listed value", async () => {
  const wrong: string[] = [];
  for (const { file, bound } of bounds) {
    const source = collapseWhitespace(await Bun.file(join(PROJECT_DIR, file)).text());
    const at = source.indexOf(` ${bound}`);
    // The value must end there: 10 is not 100.
    if (at < 0 || !/[;,} )]/.test(source[at + 1 + bound.length] ?? ""))
      wrong.push(`${file}: ${bound}`);
  }
  expect(wrong).toEqual([]);
});
