/** Reads and completes a text of values that are separated by commas. */

/** What a field offers: a name, and the code that it can be found by as well. */
export type ListOption = { name: string; code?: string };

/** A text that a field can become, and its label in the browser. */
type Completion = { value: string; label?: string };

const OPTIONS_MAX = 20;

/** The values of a text, each once. */
export const readList = (text: string): string[] => [
  ...new Set(
    text
      .split(",")
      .map((value) => value.trim())
      .filter((value) => value !== ""),
  ),
];

/** The values of a text in which spaces and new lines separate them, too. */
export const readWords = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

/**
 * Returns the texts that a text can become by its last value: known ones whose code is typed, that
 * begin with it, and that contain it, in this order, and none that the text has already.
 */
export function completeList(text: string, known: readonly ListOption[]): Completion[] {
  const end = text.lastIndexOf(",") + 1;
  const before = text.slice(0, end) + (end === 0 ? "" : " ");
  const typed = text.slice(end).trim().toLowerCase();
  const present = new Set(readList(text.slice(0, end)));
  const isCode = ({ code = "" }: ListOption) => typed !== "" && code.toLowerCase() === typed;
  const begins = ({ name }: ListOption) => name.toLowerCase().startsWith(typed);
  const contains = ({ name }: ListOption) => name.toLowerCase().includes(typed);
  // A name with a comma cannot be written in such a text.
  const free = known.filter(({ name }) => !present.has(name) && !name.includes(","));
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
