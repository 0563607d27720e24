/** A diff of two texts by lines, for people. */

/** Texts with more lines than this are compared as wholes: the table has the square of it. */
const LINES_MAX = 2_000;

/** The lines that differ: `- before` and `+ after`, in their order. No lines for equal texts. */
export function diffLines(before: string, after: string): string[] {
  if (before === after) return [];
  const a = splitLines(before);
  const b = splitLines(after);
  if (a.length > LINES_MAX || b.length > LINES_MAX)
    return [...a.map((line) => `- ${line}`), ...b.map((line) => `+ ${line}`)];
  const common = commonLengths(a, b);
  const lengthAt = (i: number, j: number): number => common[i]?.[j] ?? 0;
  const lines: string[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      i++;
      j++;
    } else if (i < a.length && (j === b.length || lengthAt(i + 1, j) >= lengthAt(i, j + 1))) {
      lines.push(`- ${a[i++]}`);
    } else {
      lines.push(`+ ${b[j++]}`);
    }
  }
  return lines;
}

const splitLines = (text: string): string[] =>
  text === "" ? [] : text.replace(/\n$/, "").split("\n");

/** For each pair of positions, the length of the longest common subsequence from there on. */
function commonLengths(a: readonly string[], b: readonly string[]): Uint16Array[] {
  const table = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--) {
      const row = table[i];
      if (row === undefined) continue;
      const [right = 0, down = 0] = [row[j + 1], table[i + 1]?.[j]];
      row[j] = a[i] === b[j] ? 1 + (table[i + 1]?.[j + 1] ?? 0) : Math.max(right, down);
    }
  return table;
}
