/**
 * The index of segments: which ones are stored. The segments of a journal are numbered without
 * gaps, so a journal needs one range, and a few more while segments are on their way.
 */
import type { SegmentId } from "../../shared/contracts/click-segment.ts";
import type { Uuid } from "../../shared/ids.ts";
import { addToRanges, formatRanges, inRanges, parseRanges, type Ranges } from "./ranges.ts";

/**
 * Most ranges of an index: about 20 MB of memory, and 5 MB of a checkpoint. Beyond it, the journal
 * to which nothing was added for the longest time is forgotten.
 */
export const RANGES_MAX = 100_000;

export type SegmentIndex = {
  has(id: SegmentId): boolean;
  add(id: SegmentId): void;
  addRange(journalId: Uuid, first: number, last: number): void;
  /** Number of ranges. */
  size(): number;
  /** Journals forgotten because of the bound. */
  forgotten(): number;
  /** The ranges of each journal, in the order of their last addition. */
  journals(): Iterable<[journalId: Uuid, ranges: Ranges]>;
};

export function createSegmentIndex(rangesMax = RANGES_MAX): SegmentIndex {
  // In the order of the last addition.
  const journals = new Map<Uuid, Ranges>();
  let size = 0;
  let forgotten = 0;

  function addRange(journalId: Uuid, first: number, last: number): void {
    const ranges = journals.get(journalId) ?? [];
    const before = ranges.length;
    addToRanges(ranges, first, last);
    size += ranges.length - before;
    journals.delete(journalId);
    journals.set(journalId, ranges);
    while (size > rangesMax) forgetOldest();
  }

  function forgetOldest(): void {
    for (const [journalId, ranges] of journals) {
      journals.delete(journalId);
      size -= ranges.length;
      forgotten++;
      return;
    }
  }

  return {
    has({ journalId, segment }) {
      const ranges = journals.get(journalId);
      return ranges !== undefined && inRanges(ranges, segment);
    },
    add: ({ journalId, segment }) => addRange(journalId, segment, segment),
    addRange,
    size: () => size,
    forgotten: () => forgotten,
    journals: () => journals.entries(),
  };
}

/** An index as text: `<journal>:<ranges>` for each journal, separated by spaces. */
export const formatSegments = (index: SegmentIndex): string =>
  [...index.journals()]
    .map(([journalId, ranges]) => `${journalId}:${formatRanges(ranges)}`)
    .join(" ");

/**
 * Adds the segments in a text of {@link formatSegments} to an index. Throws when the text is
 * malformed.
 */
export function addSegments(index: SegmentIndex, text: string): void {
  if (text === "") return;
  for (const part of text.split(" ")) {
    const colon = part.indexOf(":");
    if (colon < 0) throw new Error(`Not segments of a journal: ${part.slice(0, 40)}`);
    const journalId = part.slice(0, colon);
    for (const [first, last] of parseRanges(part.slice(colon + 1)))
      index.addRange(journalId, first, last);
  }
}

/** Formats segments like {@link formatSegments}. */
export function formatSegmentIds(ids: Iterable<SegmentId>): string {
  const index = createSegmentIndex();
  for (const id of ids) index.add(id);
  return formatSegments(index);
}

/** Parses a text of {@link formatSegments}. Throws when the text is malformed. */
export function parseSegments(text: string): SegmentIndex {
  const index = createSegmentIndex();
  addSegments(index, text);
  return index;
}

/** Lists every segment of an index. Only for the index of a batch, whose size is bounded. */
export function* listSegments(index: SegmentIndex): Generator<SegmentId> {
  for (const [journalId, ranges] of index.journals())
    for (const [first, last] of ranges)
      for (let segment = first; segment <= last; segment++) yield { journalId, segment };
}
