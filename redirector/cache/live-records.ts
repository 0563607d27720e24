/** The live records of the link cache: those in blocks that the index points to. */
import type { LinkRecord } from "../../shared/contracts/link-record.ts";
import {
  isReferenced,
  setReferenced,
  sizeAt,
  versionAt,
  writeRecord,
} from "../../shared/links-store/record.ts";
import type { LinkFacts } from "../../shared/takedowns/covers.ts";
import { type Blocks, offsetInBlock } from "./blocks.ts";
import type { KeyIndex } from "./key-index.ts";

export type LiveRecords = ReturnType<typeof createLiveRecords>;

export function createLiveRecords(
  { bytesAt, reserve, giveBack }: Blocks,
  index: KeyIndex,
  covers: (link: LinkFacts) => boolean,
) {
  let liveBytes = 0;

  /** Appends a record to the newest block; returns its offset. */
  function append(record: LinkRecord, size: number): number {
    const isCovered = record.state === "active" && covers(record);
    const offset = reserve(size);
    try {
      writeRecord(bytesAt(offset), offsetInBlock(offset), record, isCovered);
    } catch (error) {
      giveBack(size);
      throw error;
    }
    liveBytes += size;
    return offset;
  }

  return {
    /** Whether a slot has the version of a record; false for -1. */
    hasVersion(slot: number, { version }: LinkRecord): boolean {
      if (slot < 0) return false;
      const offset = index.offsetAt(slot);
      return versionAt(bytesAt(offset), offsetInBlock(offset)) === version;
    },
    /** Replaces the record in a slot by one of `size` bytes; -1 adds a new one. */
    write(slot: number, record: LinkRecord, size: number): void {
      const offset = append(record, size);
      if (slot < 0) {
        index.add(offset);
        return;
      }
      const former = index.offsetAt(slot);
      const [bytes, at] = [bytesAt(former), offsetInBlock(former)];
      setReferenced(bytesAt(offset), offsetInBlock(offset), isReferenced(bytes, at));
      liveBytes -= sizeAt(bytes, at);
      index.move(slot, offset);
    },
    /** Removes the record in a slot. Invalidates all slots returned before. */
    remove(slot: number): void {
      const offset = index.offsetAt(slot);
      liveBytes -= sizeAt(bytesAt(offset), offsetInBlock(offset));
      index.remove(slot);
    },
    clear(): void {
      index.clear();
      liveBytes = 0;
    },
    bytes: (): number => liveBytes,
  };
}
