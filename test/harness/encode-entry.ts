/** Encodes an entry of the links log, as PostgreSQL does (`number_link_log()`). */
import { ENTRY_FORMAT, type EntryHeader } from "../../shared/links-log/entry.ts";

const NEWLINE = Buffer.from("\n");

export function encodeEntry(
  { database, term, position, previous }: EntryHeader,
  states: readonly Uint8Array[],
): Uint8Array {
  const header = JSON.stringify({ format: ENTRY_FORMAT, database, term, position, previous });
  return Buffer.concat([Buffer.from(header), ...states.flatMap((state) => [NEWLINE, state])]);
}
