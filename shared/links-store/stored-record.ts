/**
 * A row of the links store: the record of a short link with a checksum, so that a damaged disk
 * never causes a redirect to a wrong destination. A row keeps also the members that only a later
 * version understands: during an upgrade both versions use the store.
 *
 * Little-endian: u32 CRC-32 of what follows; u8 form; then
 *   form 0, a link: as `record.ts` writes it, then its other members, if any, as one JSON object
 *   form 1, all others (deleted links, links with settings that are not understood, notices): the
 *   state of the links log
 *   form 2, a link of which the log has only a malformed state: empty
 */
import { type ActiveLink, decodeLinkRecord, type LinkRecord } from "../contracts/link-record.ts";
import { readRecord, sizeAt, sizeOf, withEncodedRules, writeRecord } from "./record.ts";

const FORM = 4;
const HEADER_BYTES = 5;

const LINK = 0;
const MESSAGE = 1;
const MALFORMED = 2;

/** A row is damaged: the store must not be used any more. */
export class DamagedRecordError extends Error {
  override name = "DamagedRecordError";
}

/** The log has a malformed state of a link: its existence and its destination are unknown. */
export class MalformedRecordError extends Error {
  override name = "MalformedRecordError";
}

/** Encodes a record, which was decoded from `message`, for the store. */
export function encodeStoredRecord(record: LinkRecord, message: Uint8Array): Buffer {
  return seal(
    record.state === "active"
      ? encodeLink(withEncodedRules(record))
      : encodeMessage(MESSAGE, message),
  );
}

/** Whether a row is that of a link. */
export const isLinkRow = (row: Buffer): boolean => row[FORM] === LINK;

/** The row of a link whose record is malformed. */
export const encodeMalformed = (): Buffer => seal(encodeMessage(MALFORMED, new Uint8Array()));

function seal(bytes: Buffer): Buffer {
  bytes.writeUInt32LE(Bun.hash.crc32(bytes.subarray(FORM)));
  return bytes;
}

function encodeMessage(form: number, message: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + message.length);
  bytes[FORM] = form;
  bytes.set(message, HEADER_BYTES);
  return bytes;
}

function encodeLink(record: ActiveLink): Buffer {
  const rest = Buffer.from(restJson(record));
  const size = sizeOf(record);
  // The padding is zeros, so that equal records are equal rows.
  const bytes = Buffer.alloc(HEADER_BYTES + size + rest.length);
  bytes[FORM] = LINK;
  writeRecord(bytes, HEADER_BYTES, record, false);
  bytes.set(rest, HEADER_BYTES + size);
  return bytes;
}

/** The members of a link that `record.ts` writes. */
const CACHED: ReadonlySet<string> = new Set<keyof ActiveLink>([
  "state",
  "version",
  "domain",
  "alias",
  "link_id",
  "account_id",
  "mode",
  "destination",
  "expires_at",
  "password_hash",
  "forward_query",
  "extras",
  "utm",
]);

/**
 * The members of a link that the cache lacks: those for pages about the link, and those of later
 * versions.
 */
function restJson(link: ActiveLink): string {
  const rest = Object.entries(link).filter(([name]) => !CACHED.has(name));
  return rest.length === 0 ? "" : JSON.stringify(Object.fromEntries(rest));
}

/**
 * Decodes a row. Throws a {@link DamagedRecordError} when it is damaged, and a {@link
 * MalformedRecordError} when the log has only a malformed state of the link.
 */
export function decodeStoredRecord(row: unknown): LinkRecord {
  // A column of a damaged page can have any type, whatever its table says.
  if (!(row instanceof Uint8Array))
    throw new DamagedRecordError("A row of the links store has no record.");
  const bytes = Buffer.from(row.buffer, row.byteOffset, row.length);
  if (bytes.length < HEADER_BYTES || bytes.readUInt32LE() !== Bun.hash.crc32(bytes.subarray(FORM)))
    throw new DamagedRecordError("A row of the links store has another checksum.");
  if (bytes[FORM] === LINK) return decodeLink(bytes);
  if (bytes[FORM] === MALFORMED) throw new MalformedRecordError("The link's record is malformed.");
  const record = decodeLinkRecord(bytes.subarray(HEADER_BYTES));
  if (record === undefined) throw new DamagedRecordError("A row of the links store is no record.");
  return record;
}

function decodeLink(bytes: Buffer): LinkRecord {
  const record = readRecord(bytes, HEADER_BYTES);
  const end = HEADER_BYTES + sizeAt(bytes, HEADER_BYTES);
  if (end === bytes.length) return record;
  const rest: object = JSON.parse(bytes.toString("utf8", end));
  return { ...record, ...rest };
}
