/**
 * The drills as a table of docs/drills.md: what is promised in each drill, and what the last run of
 * it measured.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { CASES, nameOf } from "./faults/drills/drill.ts";
import { DRILLS_TABLE } from "./faults/drills/table.ts";
import type { Result } from "./parts.ts";

const PAGE = join(import.meta.dir, "../../docs/drills.md");

const HEADING = "| What | Comes back | What is promised | What was measured |";

/** What a row has before its drill has run. */
const NOT_RUN = "not yet";

type Row = { what: string; condition: string; promise: string; measured: string };

const keyOf = ({ what, condition }: Pick<Row, "what" | "condition">): string =>
  nameOf({ subject: what, condition });

/** Whether a scenario has a row of the table. */
export const isDrill = (name: string): boolean => CASES.some((one) => nameOf(one) === name);

/** The rows that the table must have, without what was measured. */
export const expectedRows = (): Omit<Row, "measured">[] =>
  CASES.map(({ subject, condition }) => {
    const drill = DRILLS_TABLE[subject][condition];
    const promise = typeof drill === "string" ? `not applicable: ${drill}` : drill.promise;
    return { what: subject, condition, promise };
  });

/** The rows that the page has. */
export const readRows = (): Row[] =>
  readFileSync(PAGE, "utf8")
    .split("\n")
    .filter((line) => line.startsWith("| ") && !/^\| (?:What |-)/.test(line))
    .map((line) => {
      const [, what = "", condition = "", promise = "", measured = ""] = line
        .split(/(?<!\\)\|/)
        .map((text) => text.trim());
      return { what, condition, promise, measured };
    });

/** Writes the table again, with a result in place of the earlier one of the same drill. */
export function writePage(result: Result): void {
  const measured = new Map(readRows().map((row) => [keyOf(row), row.measured]));
  measured.set(result.name, describe(result));
  const rows = expectedRows().map((row) => {
    const found = row.promise.startsWith("not applicable") ? "" : measured.get(keyOf(row));
    return `| ${row.what} | ${row.condition} | ${row.promise} | ${found ?? NOT_RUN} |`;
  });
  const text = readFileSync(PAGE, "utf8");
  const start = text.search(/^\| What /m);
  if (start < 0) throw new Error(`${PAGE} has no table.`);
  const table = [HEADING, "| --- | --- | --- | --- |", ...rows].join("\n");
  writeFileSync(PAGE, `${text.slice(0, start)}${table}\n`);
  // Columns of the same width, as in all documents.
  Bun.spawnSync([process.execPath, "fmt", PAGE]);
}

/** What a drill measured, in a sentence. */
function describe({ problems, notes }: Result): string {
  const found = escape(notes.join("; "));
  if (problems.length === 0) return found;
  return `**FAILED**: ${escape(problems.join("; ").slice(0, PROBLEM_MAX))}. ${found}`;
}

/** Characters of problems; the results have all of them. */
const PROBLEM_MAX = 300;

const escape = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");
