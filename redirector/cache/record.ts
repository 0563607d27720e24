/**
 * A short link's state in bytes: what a redirect needs of it lies side by side, so that an answer touches
 * few lines of memory.
 *
 * Little-endian, padded to a multiple of 8 bytes:
 *   f64 version, f64 expiry in Unix milliseconds, u16 lengths of key, destination and password hash,
 *   u8 length of the key's domain, u8 flags, key;
 *   an active link's further: 16 bytes link id, 16 bytes account id, destination, password hash
 */
import { copyPassage, newPassage, type Passage } from "../../shared/bytes.ts";
import { ID_BYTES, readUuid, writeUuid } from "../../shared/contracts/click-page.ts";
import type { LinkRecord, Mode } from "../../shared/contracts/link-record.ts";

/** What a redirect and its click need of a link. */
export type CachedLink = {
  version: number;
  /** The ids of link and account, as a click's record holds them. */
  ids: Passage;
  mode: Mode;
  destination: Passage;
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
/** Found since it was last looked at by whoever makes room. */
const USED = 32;

/** Records begin where this divides. */
export const ALIGNMENT = 8;

/** A record's key: the domain, and the path of its short URL. No path begins like a domain. */
export const keyOf = ({ domain, alias }: LinkRecord): string => `${domain}/${alias}`;

/** The bytes a record will take. */
export function sizeOf(record: LinkRecord): number {
  const key = Buffer.byteLength(keyOf(record));
  if (record.state === "deleted") return aligned(KEY + key);
  const { destination, password_hash } = record;
  const texts = Buffer.byteLength(destination) + Buffer.byteLength(password_hash ?? "");
  return aligned(KEY + key + 2 * ID_BYTES + texts);
}

/** The bytes of the record at `at`. */
export function sizeAt(bytes: Buffer, at: number): number {
  const end = keyEnd(bytes, at);
  if ((flagsAt(bytes, at) & ACTIVE) === 0) return aligned(end - at);
  const texts = lengthAt(bytes, at + DESTINATION_LENGTH) + lengthAt(bytes, at + PASSWORD_LENGTH);
  return aligned(end - at + 2 * ID_BYTES + texts);
}

const aligned = (size: number): number => Math.ceil(size / ALIGNMENT) * ALIGNMENT;

/** Writes a record; there must be room for it. */
export function writeRecord(bytes: Buffer, at: number, record: LinkRecord): void {
  const { version, domain, state } = record;
  const key = bytes.write(keyOf(record), at + KEY);
  bytes.writeDoubleLE(version, at + VERSION);
  bytes.writeUInt16LE(key, at + KEY_LENGTH);
  bytes.writeUInt8(Buffer.byteLength(domain), at + DOMAIN_LENGTH);
  if (state === "deleted") {
    bytes.writeUInt8(0, at + FLAGS);
    return;
  }
  const { link_id, account_id, mode, destination, expires_at, password_hash } = record;
  const ids = at + KEY + key;
  writeUuid(bytes, ids, link_id);
  writeUuid(bytes, ids + ID_BYTES, account_id);
  const texts = ids + 2 * ID_BYTES;
  const length = bytes.write(destination, texts);
  bytes.writeUInt16LE(length, at + DESTINATION_LENGTH);
  const password = bytes.write(password_hash ?? "", texts + length);
  bytes.writeUInt16LE(password, at + PASSWORD_LENGTH);
  bytes.writeDoubleLE(expires_at ?? 0, at + EXPIRY);
  const flags =
    ACTIVE |
    (mode === "test" ? TEST : 0) |
    (expires_at === null ? 0 : EXPIRES) |
    (password_hash === null ? 0 : PASSWORD) |
    (record.forward_query ? FORWARD_QUERY : 0);
  bytes.writeUInt8(flags, at + FLAGS);
}

/** The record as it was told by the feed. */
export function readRecord(bytes: Buffer, at: number): LinkRecord {
  const key = at + KEY;
  const slash = key + (bytes[at + DOMAIN_LENGTH] ?? 0);
  const ids = keyEnd(bytes, at);
  const known = {
    version: versionAt(bytes, at),
    domain: bytes.toString("utf8", key, slash),
    alias: bytes.toString("utf8", slash + 1, ids),
  };
  const link = readLink(bytes, at, newLink());
  if (link === null) return { state: "deleted", ...known };
  const { mode, destination, expires_at, password_hash, forward_query } = link;
  return {
    state: "active",
    ...known,
    link_id: readUuid(bytes, ids),
    account_id: readUuid(bytes, ids + ID_BYTES),
    mode,
    destination: bytes.toString("utf8", destination.start, destination.end),
    expires_at,
    password_hash,
    forward_query,
  };
}

/** A link of nothing, to be read into. */
export const newLink = (): CachedLink => ({
  version: 0,
  ids: newPassage(),
  mode: "live",
  destination: newPassage(),
  expires_at: null,
  password_hash: null,
  forward_query: false,
});

/** A link that stays as it is while something is waited for. */
export const keepLink = (link: CachedLink): CachedLink => ({
  ...link,
  ids: copyPassage(link.ids),
  destination: copyPassage(link.destination),
});

/** Reads the link of a record into `link`, whose passages point into `bytes`; null for a deleted one. */
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

export const isUsed = (bytes: Buffer, at: number): boolean => (flagsAt(bytes, at) & USED) !== 0;

/** Marks a record as used, or as not used. */
export function setUsed(bytes: Buffer, at: number, used: boolean): void {
  const flags = flagsAt(bytes, at);
  const wanted = used ? flags | USED : flags & ~USED;
  // Writing costs other processors their copy of the line, so it is not done for nothing.
  if (wanted !== flags) bytes[at + FLAGS] = wanted;
}

const flagsAt = (bytes: Buffer, at: number): number => bytes[at + FLAGS] ?? 0;

const lengthAt = (bytes: Buffer, at: number): number =>
  (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);
