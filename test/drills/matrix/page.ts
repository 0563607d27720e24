/**
 * The matrix as a table of docs/drills.md: what is promised in each cell, and what the last run of
 * it measured.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { CONDITIONS, nameOf, SUBJECTS } from "./cell.ts";
import { CELLS, NOT_APPLICABLE } from "./cells.ts";
import type { CellResult } from "./run.ts";

const PAGE = join(import.meta.dir, "../../../docs/drills.md");

const HEADING = "| What | Comes back | What is promised | What was measured |";

/** What a row has before its cell has run. */
const NOT_RUN = "not yet";

type Row = { what: string; condition: string; promise: string; measured: string };

const keyOf = ({ what, condition }: Pick<Row, "what" | "condition">): string =>
  nameOf({ subject: what, condition });

/** The rows that the table must have, without what was measured. */
export const expectedRows = (): Omit<Row, "measured">[] =>
  SUBJECTS.flatMap((subject) =>
    CONDITIONS.map((condition) => {
      const cell = CELLS.find((one) => one.subject === subject && one.condition === condition);
      const reason = NOT_APPLICABLE[subject]?.[condition] ?? "";
      return { what: subject, condition, promise: cell?.promise ?? `not applicable: ${reason}` };
    }),
  );

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

/** Writes the table again, with these results in place of earlier ones of the same cells. */
export function writePage(results: readonly CellResult[]): void {
  const measured = new Map(readRows().map((row) => [keyOf(row), row.measured]));
  for (const result of results) measured.set(result.cell, describe(result));
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

/** What a cell measured, in a sentence. */
function describe({ outcome, problems, ...result }: CellResult): string {
  const { links, changes, delivered, secondsUntilRight, clicks, lostClicksMax, answers } = result;
  const numbers = [
    `${links} links, ${changes} changes`,
    delivered === undefined ? undefined : `${delivered} events recorded once and delivered`,
    `right ${secondsUntilRight} s after the end`,
    clicks === undefined
      ? undefined
      : `${clicks.redirected} redirects, ${Math.max(0, clicks.redirected - clicks.stored)} lost of ${lostClicksMax} that may be`,
    answers.unavailable === 0 ? undefined : `${answers.unavailable} answers 503`,
  ].filter((text) => text !== undefined);
  const names = namesIn(result.said);
  const said = names.length === 0 ? "nothing was said" : `said: ${names.join(", ")}`;
  const found = [...numbers, said].join("; ");
  if (outcome === "as promised") return found;
  return escape(`**FAILED**: ${problems.join("; ").slice(0, PROBLEM_MAX)}. ${found}`);
}

/** Characters of problems; the results have all of them. */
const PROBLEM_MAX = 300;

const escape = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");

/** Names of alerts, parts and checks. */
function namesIn(said: readonly string[]): string[] {
  const names = said.map(
    (line) =>
      /alert (\w+)/.exec(line)?.[1] ??
      /^doctor \w+: [^,]*, ([^:]+):/.exec(line)?.[1] ??
      /^[\w ]+: ([\w ]+)/.exec(line)?.[1] ??
      line,
  );
  return [...new Set(names)].toSorted();
}
