/**
 * Sets of integers as sorted, disjoint, inclusive ranges: numbers with few gaps need few ranges.
 */

/** `[first, last]` of each range, in order; ranges neither overlap nor touch. */
export type Ranges = [first: number, last: number][];

/** Index of the first range whose end is at or after `value`. */
function findRange(ranges: Ranges, value: number): number {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const range = ranges[middle];
    if (range !== undefined && range[1] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Whether the set contains the value. */
export function inRanges(ranges: Ranges, value: number): boolean {
  const range = ranges[findRange(ranges, value)];
  return range !== undefined && range[0] <= value;
}

/** Adds the values from `first` to `last` to the set. */
export function addToRanges(ranges: Ranges, first: number, last = first): void {
  const at = findRange(ranges, first - 1);
  const merged: [number, number] = [first, last];
  let end = at;
  for (let range = ranges[end]; range !== undefined && range[0] <= last + 1; range = ranges[end]) {
    merged[0] = Math.min(merged[0], range[0]);
    merged[1] = Math.max(merged[1], range[1]);
    end++;
  }
  ranges.splice(at, end - at, merged);
}

/** The set as text, for example `0-5,7`. */
export const formatRanges = (ranges: Ranges): string =>
  ranges.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(",");

/** Parses a text of {@link formatRanges}. Throws when the text is malformed. */
export function parseRanges(text: string): Ranges {
  const ranges: Ranges = [];
  if (text === "") return ranges;
  for (const part of text.split(",")) {
    const [, first, last] = /^(\d{1,16})(?:-(\d{1,16}))?$/.exec(part) ?? [];
    if (first === undefined) throw new Error(`Not a range: ${part.slice(0, 40)}`);
    addToRanges(ranges, Number(first), Number(last ?? first));
  }
  return ranges;
}
