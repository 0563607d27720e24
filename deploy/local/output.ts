/** What the stack shows: its own progress, and the lines of its processes behind their names. */
import { appendFileSync, mkdirSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";

import { prettyFactory } from "pino-pretty";

/** A log file that has grown beyond this is started anew. */
const LOG_BYTES_MAX = 10 * 1024 * 1024;

/** Lines of each process that are kept to show why it ended. */
const LAST_LINES = 15;

const NAME_WIDTH = 10;
const COLOURS = [36, 33, 35, 32, 34, 31];

export type Output = {
  /** Shows a line of the stack's own. */
  say(line: string): void;
  /** Takes a line of a process: to its log file, and to the screen when it is worth it. */
  line(name: string, line: string): void;
  /** The last lines of a process, as it wrote them. */
  last(name: string): string[];
};

export type OutputOptions = { logDir: string; colour: boolean; write?: (text: string) => unknown };

export function createOutput({
  logDir,
  colour,
  write = (text) => process.stdout.write(text),
}: OutputOptions): Output {
  const names: string[] = [];
  const kept = new Map<string, string[]>();
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
    say: (line) => write(`${prefix("shorthop")}${line}\n`),
    line(name, line) {
      const path = join(logDir, `${name}.log`);
      if (!kept.has(name)) shorten(path);
      const last = [...(kept.get(name) ?? []), line].slice(-LAST_LINES);
      kept.set(name, last);
      appendFileSync(path, `${line}\n`);
      if (!isWorthShowing(name, line)) return;
      const shown = line.startsWith("{") ? pretty(line).trimEnd() : line;
      for (const part of shown.split("\n")) write(`${prefix(name)}${part}\n`);
    },
    last: (name) => kept.get(name) ?? [],
  };
}

/** PostgreSQL and NATS tell a lot that nobody asked for; their log files have it all. */
export function isWorthShowing(name: string, line: string): boolean {
  if (name === "postgres")
    return (
      /\b(WARNING|ERROR|FATAL|PANIC)\b/.test(line) &&
      !/terminating connection|starting up|shutting down/.test(line)
    );
  if (name === "nats") return /\[(WRN|ERR|FTL)\]/.test(line);
  return line.trim() !== "";
}

function shorten(path: string): void {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > LOG_BYTES_MAX) truncateSync(path);
}
