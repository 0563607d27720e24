/** What a report says, as a table. */
import type { ReportRun } from "../../../../clients/typescript/src/index.ts";

/** A row for each total and for each entry of a list: what it is of, its name, and its number. */
export const toTable = ({ title, totals, lists }: ReportRun["message"]): string[][] => [
  [title, "", ""],
  ...totals.map(({ label, text }) => [label, "", text]),
  ...lists.flatMap(({ title: list, rows }) => rows.map(({ name, number }) => [list, name, number])),
];
