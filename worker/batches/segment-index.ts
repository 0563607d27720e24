/**
 * The index of segments: which ones are stored. The segments of a journal are numbered without
 * gaps, so a journal needs one range, and a few more while segments are on their way.
 */
import type { SegmentId } from "../../shared/contracts/click-segment.ts";
import type { Uuid } from "../../shared/ids.ts";

/**
 * Maximum ranges of an index: about 20 MB of memory, and 5 MB of a checkpoint. Beyond it, the
 * journal to which nothing was added for the longest time is forgotten.
 */
const RANGES_MAX = 100_000;

export class SegmentIndex {
  readonly #rangesMax: number;
  /** In the order of the last addition. */
  readonly #journals = new Map<Uuid, Ranges>();
  #size = 0;
  #forgotten = 0;

  constructor(rangesMax = RANGES_MAX) {
    this.#rangesMax = rangesMax;
  }

  static of(ids: Iterable<SegmentId>): SegmentIndex {
    const index = new SegmentIndex();
    for (const id of ids) index.add(id);
    return index;
  }

  /** Parses a text of {@link SegmentIndex.format}. Throws when the text is malformed. */
  static parse(text: string): SegmentIndex {
    const index = new SegmentIndex();
    index.addText(text);
    return index;
  }

  get size(): number {
    return this.#size;
  }

  /** The number of journals that were forgotten because of the bound. */
  get forgotten(): number {
    return this.#forgotten;
  }

  has({ journalId, segment }: SegmentId): boolean {
    const ranges = this.#journals.get(journalId);
    return ranges !== undefined && inRanges(ranges, segment);
  }

  add({ journalId, segment }: SegmentId): void {
    this.addRange(journalId, segment, segment);
  }

  addRange(journalId: Uuid, first: number, last: number): void {
    const ranges = this.#journals.get(journalId) ?? [];
    const before = ranges.length;
    addToRanges(ranges, first, last);
    this.#size += ranges.length - before;
    this.#journals.delete(journalId);
    this.#journals.set(journalId, ranges);
    while (this.#size > this.#rangesMax) this.#forgetOldest();
  }

  /**
   * Adds the segments in a text of {@link SegmentIndex.format}. Throws when the text is malformed.
   */
  addText(text: string): void {
    if (text === "") return;
    for (const part of text.split(" ")) {
      const colon = part.indexOf(":");
      if (colon < 0) throw new Error(`Not segments of a journal: ${part.slice(0, 40)}`);
      for (const [first, last] of parseRanges(part.slice(colon + 1)))
        this.addRange(part.slice(0, colon), first, last);
    }
  }

  /** The index as text: `<journal>:<ranges>` for each journal, separated by spaces. */
  format(): string {
    return [...this.#journals]
      .map(([journalId, ranges]) => `${journalId}:${formatRanges(ranges)}`)
      .join(" ");
  }

  /** Lists every segment. Only for the index of a batch, whose size is bounded. */
  list(): SegmentId[] {
    const ids: SegmentId[] = [];
    for (const [journalId, ranges] of this.#journals)
      for (const [first, last] of ranges)
        for (let segment = first; segment <= last; segment++) ids.push({ journalId, segment });
    return ids;
  }

  #forgetOldest(): void {
    for (const [journalId, ranges] of this.#journals) {
      this.#journals.delete(journalId);
      this.#size -= ranges.length;
      this.#forgotten++;
      return;
    }
  }
}

/**
 * A set of integers as `[first, last]` of each range, in order; ranges neither overlap nor touch.
 */
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
