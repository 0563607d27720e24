/** What commands print: for people on a terminal, for programs on a pipe. */
import { createInterface } from "node:readline/promises";
import type { Readable } from "node:stream";

export type Environment = Readonly<Record<string, string | undefined>>;

type Input = Readable & { isTTY?: boolean };
type Output = NodeJS.WritableStream & { isTTY?: boolean; columns?: number };

/** The width where the terminal has none. */
const COLUMNS = 80;

/** The least width of the last column, which takes what the others leave. */
const LAST_MIN = 12;

/** Widths of bars, and what the columns beside them take. */
const BAR_MIN = 8;
const BAR_MAX = 30;
const BESIDE_BARS = 50;

const BAR = "█";
const BAR_PARTS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** Bytes that a terminal would take for commands. */
const CONTROLS = /\p{Cc}/gu;

export class Terminal {
  readonly #input: Input;
  readonly #output: Output;
  readonly #messages: NodeJS.WritableStream;
  readonly #env: Environment;
  /** Whether a part of a command has failed. */
  failed = false;

  constructor(input: Input, output: Output, messages: NodeJS.WritableStream, env: Environment) {
    this.#input = input;
    this.#output = output;
    this.#messages = messages;
    this.#env = env;
  }

  /** Whether people read what is printed. */
  get isForPeople(): boolean {
    return this.#output.isTTY === true;
  }

  get #columns(): number {
    return this.#output.columns ?? COLUMNS;
  }

  /** The width of the longest bar, which is never cut: its length is what it says. */
  get #barColumns(): number {
    return Math.min(BAR_MAX, Math.max(BAR_MIN, this.#columns - BESIDE_BARS));
  }

  /** Whether what is read comes from a pipe or a file. */
  get isFed(): boolean {
    return this.#input.isTTY !== true;
  }

  print(text: string): void {
    this.#output.write(`${text}\n`);
  }

  printJson(value: unknown): void {
    this.print(JSON.stringify(value));
  }

  /** A message, beside the results. */
  say(text: string): void {
    this.#messages.write(`${clean(text)}\n`);
  }

  /**
   * Prints rows under headings, as wide as the terminal; on a pipe, tab-separated and whole,
   * without the columns that have no heading. Cells that are numbers are aligned right.
   */
  printTable(headings: readonly string[], rows: readonly (readonly (string | number)[])[]): void {
    const texts = rows.map((row) => row.map((cell) => clean(String(cell))));
    if (!this.isForPeople) {
      for (const row of texts) this.print(row.filter((_, i) => headings[i] !== "").join("\t"));
      return;
    }
    const widths = headings.map((heading, i) =>
      Math.max(widthOf(heading), ...texts.map((row) => widthOf(row[i] ?? ""))),
    );
    const others = widths.slice(0, -1).reduce((sum, width) => sum + width + 2, 0);
    const left = Math.max(LAST_MIN, this.#columns - others);
    widths[widths.length - 1] = Math.min(widths.at(-1) ?? 0, left);
    const isRight = headings.map((_, i) => rows.every((row) => typeof row[i] === "number"));
    const line = (row: readonly string[]): string =>
      row
        .map((text, i) => pad(text, widths[i] ?? 0, isRight[i] === true && rows.length > 0))
        .join("  ")
        .trimEnd();
    this.print(this.#bold(line(headings)));
    for (const row of texts) this.print(line(row));
  }

  /** A bar as long as the share of the largest value, for a column without a heading. */
  bar(value: number, largest: number, columns = this.#barColumns): string {
    if (largest === 0) return "";
    const eighths = Math.round((value / largest) * columns * 8);
    return BAR.repeat(Math.floor(eighths / 8)) + (BAR_PARTS[eighths % 8] ?? "");
  }

  /** Asks for a line; one that is secret is not shown. */
  async ask(question: string, { isSecret = false } = {}): Promise<string> {
    const shown = this.isFed ? undefined : this.#messages;
    const lines = createInterface({
      input: this.#input,
      ...(shown === undefined || isSecret ? {} : { output: shown }),
      terminal: !this.isFed,
    });
    if (isSecret || shown === undefined) this.#messages.write(question);
    try {
      return (await lines.question(isSecret || shown === undefined ? "" : question)).trim();
    } finally {
      if (isSecret) this.#messages.write("\n");
      lines.close();
    }
  }

  /** The lines of standard input that are not blank, as they arrive. */
  async *readLines(): AsyncGenerator<string, void, undefined> {
    const lines = createInterface({ input: this.#input });
    for await (const line of lines) if (line.trim() !== "") yield line.trim();
  }

  /** https://no-color.org */
  #bold(text: string): string {
    const isPlain = (this.#env["NO_COLOR"] ?? "") !== "" || this.#env["TERM"] === "dumb";
    return isPlain ? text : `\u001B[1m${text}\u001B[22m`;
  }
}

/** Texts of others may be printed: without what a terminal would obey. */
const clean = (text: string): string => text.replaceAll(CONTROLS, " ");

const segmenter = new Intl.Segmenter();

/** Columns of a text; East Asian characters and emoji have two. */
function widthOf(text: string): number {
  let width = 0;
  for (const { segment } of segmenter.segment(text)) width += isWide(segment) ? 2 : 1;
  return width;
}

/** https://www.unicode.org/reports/tr11, by blocks. */
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6])/u;

const isWide = (character: string): boolean => WIDE.test(character) || character.includes("\uFE0F");

function pad(text: string, width: number, isRight: boolean): string {
  const shown = widthOf(text) <= width ? text : truncate(text, width);
  const space = " ".repeat(Math.max(0, width - widthOf(shown)));
  return isRight ? space + shown : shown + space;
}

function truncate(text: string, width: number): string {
  let shown = "";
  for (const { segment } of segmenter.segment(text)) {
    if (widthOf(shown + segment) > width - 1) break;
    shown += segment;
  }
  return `${shown}…`;
}
