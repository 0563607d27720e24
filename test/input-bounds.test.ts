/**
 * Goal: docs/input-bounds.md is correct: each bound it lists is in the file it names, with that value.
 */
import { expect, test } from "bun:test";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "..");

type Bound = { file: string; bound: string };

/** Reads the bounds from the page's tables: rows of four cells, the second a file, the third one or more bounds. */
async function readBounds(): Promise<Bound[]> {
  const page = await Bun.file(join(ROOT, "docs/input-bounds.md")).text();
  const rows = page
    .split("\n")
    .map((line) => line.split(" | ").map((cell) => cell.trim()))
    .filter((cells) => cells.length === 4 && cells[1]?.startsWith("`") === true);
  return rows.flatMap(([, file = "", bounds = ""]) =>
    bounds
      .replaceAll(/^`|`$/g, "")
      .split("`, `")
      .map((bound) => ({ file: file.replaceAll("`", ""), bound })),
  );
}

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
    const source = collapseWhitespace(await Bun.file(join(ROOT, file)).text());
    const at = source.indexOf(` ${bound}`);
    // The value must end there: 10 is not 100.
    if (at < 0 || !/[;,} )]/.test(source[at + 1 + bound.length] ?? ""))
      wrong.push(`${file}: ${bound}`);
  }
  expect(wrong).toEqual([]);
});
