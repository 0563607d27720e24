/** The stack's output: its own progress, and its processes' lines prefixed with their names. */
import { appendFileSync, mkdirSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";

import { prettyFactory } from "pino-pretty";

/** A larger log file is truncated, so that noise cannot fill the disk. */
const LOG_BYTES_MAX = 10 * 1024 * 1024;

/** Lines of each process retained to show why it ended. */
const LAST_LINES = 15;

const NAME_WIDTH = 10;
const COLOURS = [36, 33, 35, 32, 34, 31];

export class Logger {
  readonly #logDir: string;
  readonly #hasColour: boolean;
  readonly #write: (text: string) => unknown;
  readonly #pretty: (line: string) => string;
  readonly #names: string[] = [];
  readonly #recentLines = new Map<string, string[]>();
  /** Size of each log file in bytes. */
  readonly #sizes = new Map<string, number>();

  constructor(
    logDir: string,
    hasColour: boolean,
    write: (text: string) => unknown = (text) => process.stdout.write(text),
  ) {
    this.#logDir = logDir;
    this.#hasColour = hasColour;
    this.#write = write;
    this.#pretty = prettyFactory({
      colorize: hasColour,
      messageKey: "event",
      errorLikeObjectKeys: ["error"],
      translateTime: "UTC:HH:MM:ss",
      ignore: "process,pid,hostname",
      singleLine: true,
    });
    mkdirSync(logDir, { recursive: true });
  }

  /** Prints a line of the stack itself. */
  log(line: string): void {
    this.#write(`${this.#prefix("shorthop")}${line}\n`);
  }

  /** Appends a process's line to its log file, and prints it if it is worth printing. */
  logProcess(name: string, line: string): void {
    const path = join(this.#logDir, `${name}.log`);
    const before = this.#sizes.get(name) ?? sizeOf(path);
    const isFull = before > LOG_BYTES_MAX;
    if (isFull) truncateSync(path);
    this.#sizes.set(name, (isFull ? 0 : before) + Buffer.byteLength(line) + 1);
    this.#recentLines.set(name, [...this.lastLines(name), line].slice(-LAST_LINES));
    appendFileSync(path, `${line}\n`);
    if (!isWorthPrinting(name, line)) return;
    const text = line.startsWith("{") ? this.#pretty(line).trimEnd() : line;
    for (const part of text.split("\n")) this.#write(`${this.#prefix(name)}${part}\n`);
  }

  lastLines(name: string): string[] {
    return this.#recentLines.get(name) ?? [];
  }

  #prefix(name: string): string {
    if (!this.#names.includes(name)) this.#names.push(name);
    const text = `${name.padEnd(NAME_WIDTH)} │ `;
    const colour = COLOURS[this.#names.indexOf(name) % COLOURS.length];
    return this.#hasColour ? `\x1b[${colour}m${text}\x1b[0m` : text;
  }
}

/** Whether a line is printed: of PostgreSQL and NATS only warnings and errors. */
export function isWorthPrinting(name: string, line: string): boolean {
  if (name === "postgres")
    return (
      /\b(WARNING|ERROR|FATAL|PANIC)\b/.test(line) &&
      !/terminating connection|starting up|shutting down/.test(line)
    );
  if (name === "nats") return /\[(WRN|ERR|FTL)\]/.test(line);
  return line.trim() !== "";
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
