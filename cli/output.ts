/** Output of all commands, and questions on the terminal. */
import { createInterface } from "node:readline/promises";

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
