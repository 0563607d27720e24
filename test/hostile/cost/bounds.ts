/** Reads the value of a bound from the file that defines it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { PROJECT_DIR } from "../../harness/stack.ts";

/**
 * The expression that a bound is defined by, e.g. `16 * 1024` of
 * `redirector/http/request-head-parser.ts HEAD_BYTES_MAX`; undefined if the file has no such
 * constant.
 */
export function readBound(name: string): string | undefined {
  const [file = "", constant = ""] = name.split(" ");
  const text = readFileSync(join(PROJECT_DIR, file), "utf8");
  return new RegExp(String.raw`\bconst ${constant} = ([^;]+);`).exec(text)?.[1];
}
