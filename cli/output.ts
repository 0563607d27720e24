/** Output of all commands, and questions on the terminal. */
import { createInterface } from "node:readline/promises";

import type { Command } from "commander";

import type { Sql } from "../api/postgres.ts";
import type { Installation } from "./installation.ts";

type Result = Record<string, unknown>;

/** Prints a record to standard output: as JSON, or one field per line. */
export function print(json: boolean, result: Result): void {
  console.log(json ? JSON.stringify(result) : formatLines(result));
}

/** Prints a list: as a JSON array, or as records separated by empty lines. */
export function printList(json: boolean, results: readonly Result[]): void {
  console.log(json ? JSON.stringify(results) : results.map(formatLines).join("\n\n"));
}

const formatLines = (result: Result): string =>
  Object.entries(result)
    .map(([name, value]) => `${name}\t${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("\n");

/**
 * Has a command do some work on PostgreSQL, with its arguments and options, and print the result: a
 * record or a list, with `--json` as JSON.
 */
export function runOnDatabase(
  installation: Installation,
  command: Command,
  work: (sql: Sql, ...given: never[]) => Promise<Result | Result[]>,
): void {
  command.option("--json", "print JSON", false).action((...given: unknown[]) =>
    installation.withDatabase(async (sql) => {
      const { json } = command.opts<{ json: boolean }>();
      // What the command's own parsers have returned.
      const result = await work(sql, ...(given as never[]));
      if (Array.isArray(result)) printList(json, result);
      else print(json, result);
    }),
  );
}

/** Throws an error when the object of a command does not exist. */
export function mustExist(found: boolean, noun: string): asserts found {
  if (!found) throw new Error(`The ${noun} does not exist.`);
}

/** Asks on the terminal, or reads a line of a pipe; standard output may be that of the result. */
export async function ask(
  question: string,
  output: NodeJS.WritableStream = process.stdout,
): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output });
  try {
    return (await terminal.question(question)).trim();
  } finally {
    terminal.close();
  }
}
