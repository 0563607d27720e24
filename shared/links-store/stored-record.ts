/**
 * A row of the links store: the record of a short link, with a checksum, as a damaged disk must never lead anybody to
 * another place. Nothing of a record is lost that a later version understands: both versions of an upgrade use the store.
 *
 * Little-endian: u32 CRC-32 of what follows; u8 form; then
 *   form 0, a link: as `cache/record.ts` writes it, then as one JSON object all else that it has, if anything
 *   form 1, all others (deleted links, links with extras that are not understood, notices): the message of the feed
 *   form 2, a link of which the feed has nothing but a malformed record: nothing
 */
import { type ActiveLink, decodeLinkRecord, type LinkRecord } from "../contracts/link-record.ts";
import { readRecord, sizeAt, sizeOf, writeRecord } from "./record.ts";

const FORM = 4;
const HEADER_BYTES = 5;

const LINK = 0;
const MESSAGE = 1;
const MALFORMED = 2;

/** A row is not what was written: the store must not be used any more. */
export class DamagedRecordError extends Error {
  override name = "DamagedRecordError";
}

/** The feed has a malformed record of a link: whether the link exists, and where it leads, is not known. */
export class MalformedRecordError extends Error {
  override name = "MalformedRecordError";
}

/** Encodes a record, which `message` was decoded to, for the store. */
export function encodeStoredRecord(record: LinkRecord, message: Uint8Array): Buffer {
  return seal(record.state === "active" ? encodeLink(record) : encodeMessage(MESSAGE, message));
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
  // Zeros where the record is padded, so that equal records are equal rows.
  const bytes = Buffer.alloc(HEADER_BYTES + size + rest.length);
  bytes[FORM] = LINK;
  writeRecord(bytes, HEADER_BYTES, record, false);
  bytes.set(rest, HEADER_BYTES + size);
  return bytes;
}

/** The members of a link that `cache/record.ts` writes. */
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

/** What the cache does not keep of a link: what pages about it show, and what only a later version knows. */
function restJson(link: ActiveLink): string {
  const rest = Object.entries(link).filter(([name]) => !CACHED.has(name));
  return rest.length === 0 ? "" : JSON.stringify(Object.fromEntries(rest));
}

/**
 * Decodes a row; throws a {@link DamagedRecordError} for one that is not what was written, and a
 * {@link MalformedRecordError} for a link that is not known.
 */
export function decodeStoredRecord(row: Uint8Array): LinkRecord {
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
