/** Bounds on input as the product's sources have them: a bound that changes is reached at once. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { PROJECT_DIR } from "../../harness/stack.ts";

/** The value of a constant that is a sum of products of numbers, such as `16 * 1024`. */
export function bound(file: string, name: string): number {
  const text = readFileSync(join(PROJECT_DIR, file), "utf8");
  const [, value] = new RegExp(String.raw`\bconst ${name} = ([\d_ *+]+);`).exec(text) ?? [];
  if (value === undefined) throw new Error(`${file} has no ${name}.`);
  return value
    .replaceAll("_", "")
    .split("+")
    .map((term) => term.split("*").reduce((product, factor) => product * Number(factor), 1))
    .reduce((sum, term) => sum + term, 0);
}
