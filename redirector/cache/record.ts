/**
 * Encodes a short link's record in bytes. What a redirect needs of it is adjacent, so that a redirect touches few
 * cache lines.
 *
 * Little-endian, padded to a multiple of 8 bytes:
 *   f64 version, f64 expiry in Unix milliseconds, u16 lengths of key, destination and password hash,
 *   u8 length of the key's domain, u8 flags, key;
 *   only of an active link: 16 bytes link id, 16 bytes account id, destination, password hash
 */
import { type ByteSlice, copySlice, emptySlice } from "../../shared/bytes.ts";
import { ID_BYTES, readUuid, writeUuid } from "../../shared/contracts/click-segment.ts";
import type { LinkRecord, Mode } from "../../shared/contracts/link-record.ts";

/** The part of a link that a redirect and its click need. */
export type CachedLink = {
  version: number;
  /** The ids of link and account, as a click's record holds them. */
  ids: ByteSlice;
  mode: Mode;
  destination: ByteSlice;
  expires_at: number | null;
  password_hash: string | null;
  forward_query: boolean;
};

const VERSION = 0;
const EXPIRY = 8;
const KEY_LENGTH = 16;
const DESTINATION_LENGTH = 18;
const PASSWORD_LENGTH = 20;
const DOMAIN_LENGTH = 22;
const FLAGS = 23;
export const KEY = 24;

const ACTIVE = 1;
const TEST = 2;
const EXPIRES = 4;
const PASSWORD = 8;
const FORWARD_QUERY = 16;
/** The link was requested since it was written, or since eviction last passed over it. */
const REFERENCED = 32;

/** Records begin at multiples of this. */
export const ALIGNMENT = 8;

/** A record's key: the domain and the path of its short URL. As a path begins with a slash, keys are unambiguous. */
export const keyOf = ({ domain, alias }: LinkRecord): string => `${domain}/${alias}`;

/** The bytes that a record takes once it is written. */
export function sizeOf(record: LinkRecord): number {
  const keyLength = Buffer.byteLength(keyOf(record));
  if (record.state === "deleted") return align(KEY + keyLength);
  const { destination, password_hash } = record;
  const texts = Buffer.byteLength(destination) + Buffer.byteLength(password_hash ?? "");
  return align(KEY + keyLength + 2 * ID_BYTES + texts);
}

/** The bytes that the record at `at` takes. */
export function sizeAt(bytes: Buffer, at: number): number {
  const end = keyEnd(bytes, at);
  if ((flagsAt(bytes, at) & ACTIVE) === 0) return align(end - at);
  const texts = lengthAt(bytes, at + DESTINATION_LENGTH) + lengthAt(bytes, at + PASSWORD_LENGTH);
  return align(end - at + 2 * ID_BYTES + texts);
}

const align = (size: number): number => Math.ceil(size / ALIGNMENT) * ALIGNMENT;

/** Writes a record at `at`; there must be {@link sizeOf} bytes. */
export function writeRecord(bytes: Buffer, at: number, record: LinkRecord): void {
  const { version, domain, state } = record;
  const keyLength = bytes.write(keyOf(record), at + KEY);
  bytes.writeDoubleLE(version, at + VERSION);
  bytes.writeUInt16LE(keyLength, at + KEY_LENGTH);
  bytes.writeUInt8(Buffer.byteLength(domain), at + DOMAIN_LENGTH);
  if (state === "deleted") {
    bytes.writeUInt8(0, at + FLAGS);
    return;
  }
  const { link_id, account_id, mode, destination, expires_at, password_hash } = record;
  const ids = at + KEY + keyLength;
  writeUuid(bytes, ids, link_id);
  writeUuid(bytes, ids + ID_BYTES, account_id);
  const texts = ids + 2 * ID_BYTES;
  const destinationLength = bytes.write(destination, texts);
  bytes.writeUInt16LE(destinationLength, at + DESTINATION_LENGTH);
  const passwordLength = bytes.write(password_hash ?? "", texts + destinationLength);
  bytes.writeUInt16LE(passwordLength, at + PASSWORD_LENGTH);
  bytes.writeDoubleLE(expires_at ?? 0, at + EXPIRY);
  const flags =
    ACTIVE |
    (mode === "test" ? TEST : 0) |
    (expires_at === null ? 0 : EXPIRES) |
    (password_hash === null ? 0 : PASSWORD) |
    (record.forward_query ? FORWARD_QUERY : 0);
  bytes.writeUInt8(flags, at + FLAGS);
}

/** Decodes the record at `at`, as the feed delivered it. */
export function readRecord(bytes: Buffer, at: number): LinkRecord {
  const key = at + KEY;
  const slash = key + (bytes[at + DOMAIN_LENGTH] ?? 0);
  const ids = keyEnd(bytes, at);
  const common = {
    version: versionAt(bytes, at),
    domain: bytes.toString("utf8", key, slash),
    alias: bytes.toString("utf8", slash + 1, ids),
  };
  const link = readLink(bytes, at, emptyLink());
  if (link === null) return { state: "deleted", ...common };
  const { mode, destination, expires_at, password_hash, forward_query } = link;
  return {
    state: "active",
    ...common,
    link_id: readUuid(bytes, ids),
    account_id: readUuid(bytes, ids + ID_BYTES),
    mode,
    destination: bytes.toString("utf8", destination.start, destination.end),
    expires_at,
    password_hash,
    forward_query,
  };
}

/** Creates an empty link, for {@link readLink} to fill in. */
export const emptyLink = (): CachedLink => ({
  version: 0,
  ids: emptySlice(),
  mode: "live",
  destination: emptySlice(),
  expires_at: null,
  password_hash: null,
  forward_query: false,
});

/** Copies a link, so that it stays unchanged across an `await`. */
export const copyLink = (link: CachedLink): CachedLink => ({
  ...link,
  ids: copySlice(link.ids),
  destination: copySlice(link.destination),
});

/** Reads the link at `at` into `link`, whose slices point into `bytes`; returns null for a deleted one. */
export function readLink(bytes: Buffer, at: number, link: CachedLink): CachedLink | null {
  const flags = flagsAt(bytes, at);
  if ((flags & ACTIVE) === 0) return null;
  const { ids, destination } = link;
  ids.bytes = bytes;
  ids.start = keyEnd(bytes, at);
  ids.end = ids.start + 2 * ID_BYTES;
  destination.bytes = bytes;
  destination.start = ids.end;
  destination.end = ids.end + lengthAt(bytes, at + DESTINATION_LENGTH);
  link.version = versionAt(bytes, at);
  link.mode = (flags & TEST) === 0 ? "live" : "test";
  link.expires_at = (flags & EXPIRES) === 0 ? null : bytes.readDoubleLE(at + EXPIRY);
  link.password_hash = (flags & PASSWORD) === 0 ? null : readPassword(bytes, at, destination.end);
  link.forward_query = (flags & FORWARD_QUERY) !== 0;
  return link;
}

const readPassword = (bytes: Buffer, at: number, start: number): string =>
  bytes.toString("utf8", start, start + lengthAt(bytes, at + PASSWORD_LENGTH));

export const versionAt = (bytes: Buffer, at: number): number => bytes.readDoubleLE(at + VERSION);

/** Where the key of the record at `at` ends; it begins {@link KEY} bytes after `at`. */
export const keyEnd = (bytes: Buffer, at: number): number =>
  at + KEY + lengthAt(bytes, at + KEY_LENGTH);

export const isReferenced = (bytes: Buffer, at: number): boolean =>
  (flagsAt(bytes, at) & REFERENCED) !== 0;

/** Sets or clears a record's REFERENCED bit. */
export function setReferenced(bytes: Buffer, at: number, referenced: boolean): void {
  const flags = flagsAt(bytes, at);
  const newFlags = referenced ? flags | REFERENCED : flags & ~REFERENCED;
  // A write invalidates the cache line in other cores, so it is skipped when nothing changes.
  if (newFlags !== flags) bytes[at + FLAGS] = newFlags;
}

const flagsAt = (bytes: Buffer, at: number): number => bytes[at + FLAGS] ?? 0;

const lengthAt = (bytes: Buffer, at: number): number =>
  (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);
