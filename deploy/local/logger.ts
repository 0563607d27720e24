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

export type Logger = {
  /** Prints a line of the stack itself. */
  log(line: string): void;
  /** Appends a process's line to its log file, and prints it if it is worth printing. */
  logProcess(name: string, line: string): void;
  /** Returns the last lines of a process, unchanged. */
  lastLines(name: string): string[];
};

export type LoggerOptions = { logDir: string; colour: boolean; write?: (text: string) => unknown };

export function createLogger({
  logDir,
  colour,
  write = (text) => process.stdout.write(text),
}: LoggerOptions): Logger {
  const names: string[] = [];
  const recentLines = new Map<string, string[]>();
  /** Size of each log file in bytes. */
  const sizes = new Map<string, number>();
  const pretty = prettyFactory({
    colorize: colour,
    messageKey: "event",
    errorLikeObjectKeys: ["error"],
    translateTime: "UTC:HH:MM:ss",
    ignore: "process,pid,hostname",
    singleLine: true,
  });
  mkdirSync(logDir, { recursive: true });

  function prefix(name: string): string {
    if (!names.includes(name)) names.push(name);
    const text = `${name.padEnd(NAME_WIDTH)} │ `;
    return colour ? `\x1b[${COLOURS[names.indexOf(name) % COLOURS.length]}m${text}\x1b[0m` : text;
  }

  return {
    log: (line) => write(`${prefix("shorthop")}${line}\n`),
    logProcess(name, line) {
      const path = join(logDir, `${name}.log`);
      const before = sizes.get(name) ?? sizeOf(path);
      const isFull = before > LOG_BYTES_MAX;
      if (isFull) truncateSync(path);
      sizes.set(name, (isFull ? 0 : before) + Buffer.byteLength(line) + 1);
      const recent = [...(recentLines.get(name) ?? []), line].slice(-LAST_LINES);
      recentLines.set(name, recent);
      appendFileSync(path, `${line}\n`);
      if (!isWorthPrinting(name, line)) return;
      const text = line.startsWith("{") ? pretty(line).trimEnd() : line;
      for (const part of text.split("\n")) write(`${prefix(name)}${part}\n`);
    },
    lastLines: (name) => recentLines.get(name) ?? [],
  };
}

/**
 * Whether a line is printed: of PostgreSQL and NATS only warnings and errors; their log files have
 * everything.
 */
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
