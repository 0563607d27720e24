/** Reads and completes a text of values, separated as people type or paste them. */

/** What a field offers: a name, and the code that it can be found by as well. */
export type ListOption = { name: string; code?: string };

/** A text that a field can become, and its label in the browser. */
type Completion = { value: string; label?: string };

const OPTIONS_MAX = 20;

/** What people type between values, and what is between the cells and the lines that they paste. */
const SEPARATOR = /[,;\t\r\n]/;

/** The values of a text, each once. */
export const readList = (text: string): string[] => readParts(text, SEPARATOR);

/** The values of a text in which spaces separate them, too. */
export const readWords = (text: string): string[] => readParts(text, /[\s,;]/);

const readParts = (text: string, separator: RegExp): string[] => [
  ...new Set(
    text
      .split(separator)
      .map((value) => value.trim())
      .filter((value) => value !== ""),
  ),
];

/**
 * Returns the texts that a text can become by its last value: known ones whose code is typed, that
 * begin with it, and that contain it, in this order, and none that the text has already.
 */
export function completeList(text: string, known: readonly ListOption[]): Completion[] {
  const end = text.length - (text.split(SEPARATOR).at(-1) ?? "").length;
  const before = text.slice(0, end) + (end === 0 ? "" : " ");
  const typed = text.slice(end).trim().normalize("NFC").toLowerCase();
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
