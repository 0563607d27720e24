/** Reads and completes a text of values, separated as people type or paste them. */
import { composeLetters } from "../../../shared/contracts/text.ts";

/** What a field offers: a name, and the code that it can be found by as well. */
export type ListOption = { name: string; code?: string };

/** A text that a field can become, and its label in the browser. */
type Completion = { value: string; label?: string };

const OPTIONS_MAX = 20;

/**
 * What people type between values, and what is between the cells and the lines that they paste. A
 * text that is split by it keeps it.
 */
const SEPARATOR = /([,;\t\r\n])/;

/**
 * The values of a text, each once. Those that it had `before`, with separators in them, stay whole.
 */
export function readList(text: string, before: readonly string[] = []): string[] {
  const whole = before
    .map((value) => ({ value, length: value.split(SEPARATOR).length }))
    .toSorted((one, other) => other.length - one.length);
  const parts = text.split(SEPARATOR);
  const values: string[] = [];
  for (let start = 0; start < parts.length;) {
    const read = (length: number) =>
      parts
        .slice(start, start + length)
        .join("")
        .trim();
    const length = whole.find((known) => read(known.length) === known.value)?.length ?? 1;
    values.push(read(length));
    start += length + 1;
  }
  return unique(values);
}

/** The values of a text in which spaces separate them, too. */
export const readWords = (text: string): string[] => unique(text.split(/[\s,;]/));

const unique = (values: readonly string[]): string[] => [
  ...new Set(values.map((value) => value.trim()).filter((value) => value !== "")),
];

/**
 * Returns the texts that a text can become by its last value: known ones whose code is typed, that
 * begin with it, and that contain it, in this order, and none that the text has already.
 */
export function completeList(text: string, known: readonly ListOption[]): Completion[] {
  const end = text.length - (text.split(SEPARATOR).at(-1) ?? "").length;
  const before = text.slice(0, end) + (end === 0 ? "" : " ");
  const typed = composeLetters(text.slice(end).trim()).toLowerCase();
  const present = new Set(readList(text.slice(0, end)));
  const isCode = ({ code = "" }: ListOption) => typed !== "" && code.toLowerCase() === typed;
  const begins = ({ name }: ListOption) => name.toLowerCase().startsWith(typed);
  const contains = ({ name }: ListOption) => name.toLowerCase().includes(typed);
  // A name with a separator cannot be written in such a text.
  const free = known.filter(({ name }) => !present.has(name) && !SEPARATOR.test(name));
  const found = new Set([isCode, begins, contains].flatMap((matches) => free.filter(matches)));
  const completions = [...found].slice(0, OPTIONS_MAX).map((option) => {
    const { name, code } = option;
    if (code === undefined) return { value: before + name };
    // Browsers show only what contains the typed text.
    const label = isCode(option) ? `${code}: ${name}` : `${name} (${code})`;
    return { value: before + name, label: before + label };
  });
  // While a browser offers something, Enter does not send the form.
  return completions.filter(({ value }) => value !== text);
}
