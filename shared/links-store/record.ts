/**
 * Encodes a short link's record in bytes. The fields that a redirect needs are adjacent, so that it
 * touches few cache lines.
 *
 * Little-endian, padded to a multiple of 8 bytes:
 *   f64 version, f64 expiry in Unix milliseconds, u16 lengths of key, destination and password
 *   hash,
 *   u8 length of the key's domain, u8 flags, key;
 *   only of an active link: 16 bytes link id, 16 bytes account id, destination, password hash
 *   only of a link with redirect settings or UTM parameters: those, see {@link CachedSettings}
 */
import { type ByteSlice, copySlice, emptySlice } from "../bytes.ts";
import type { ActiveLink, LinkRecord, Mode } from "../contracts/link-record.ts";
import type { RedirectSettings } from "../contracts/redirect-settings.ts";
import { keyOf } from "../contracts/short-link.ts";
import { u16At, u32At } from "../decision/byte-writer.ts";
import { EncodedRules, encodeRules } from "../decision/encoded-rules.ts";
import { ID_BYTES, readUuid, writeUuid } from "../ids.ts";
import type { TakedownFields } from "../takedowns.ts";

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
  /** `CachedSettings` as JSON; null for a link without settings, rules included. */
  settings: ByteSlice | null;
  rules: EncodedRules | null;
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
const SETTINGS = 64;
/** The link is taken down with its account or with a host of its destinations. */
const TAKEN_DOWN = 128;

/** Records begin at multiples of this. */
export const ALIGNMENT = 8;

/** The bytes of a record once it is written. */
export function sizeOf(record: LinkRecord): number {
  const keyLength = Buffer.byteLength(keyOf(record));
  if (record.state === "deleted") return align(KEY + keyLength);
  const { destination, password_hash } = record;
  const settings = encodeSettings(record);
  const texts = Buffer.byteLength(destination) + Buffer.byteLength(password_hash ?? "");
  return align(
    KEY + keyLength + 2 * ID_BYTES + texts + (settings === undefined ? 0 : settingsSize(settings)),
  );
}

/** The size in bytes of the record at `at`. */
export function sizeAt(bytes: Buffer, at: number): number {
  const end = keyEnd(bytes, at);
  const flags = flagsAt(bytes, at);
  if ((flags & ACTIVE) === 0) return align(end - at);
  const texts = u16At(bytes, at + DESTINATION_LENGTH) + u16At(bytes, at + PASSWORD_LENGTH);
  const textsEnd = end + 2 * ID_BYTES + texts;
  return align((flags & SETTINGS) === 0 ? textsEnd - at : settingsEnd(bytes, textsEnd) - at);
}

const align = (size: number): number => Math.ceil(size / ALIGNMENT) * ALIGNMENT;

/** Writes a record at `at`; there must be {@link sizeOf} bytes. */
export function writeRecord(
  bytes: Buffer,
  at: number,
  record: LinkRecord,
  takenDown: boolean,
): void {
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
  const settings = encodeSettings(record);
  const ids = at + KEY + keyLength;
  writeUuid(bytes, ids, link_id);
  writeUuid(bytes, ids + ID_BYTES, account_id);
  const texts = ids + 2 * ID_BYTES;
  const destinationLength = bytes.write(destination, texts);
  bytes.writeUInt16LE(destinationLength, at + DESTINATION_LENGTH);
  const passwordLength = bytes.write(password_hash ?? "", texts + destinationLength);
  bytes.writeUInt16LE(passwordLength, at + PASSWORD_LENGTH);
  bytes.writeDoubleLE(expires_at ?? 0, at + EXPIRY);
  if (settings !== undefined)
    writeSettings(bytes, texts + destinationLength + passwordLength, settings);
  const flags =
    ACTIVE |
    (mode === "test" ? TEST : 0) |
    (expires_at === null ? 0 : EXPIRES) |
    (password_hash === null ? 0 : PASSWORD) |
    (record.forward_query ? FORWARD_QUERY : 0) |
    (settings === undefined ? 0 : SETTINGS) |
    (takenDown ? TAKEN_DOWN : 0);
  bytes.writeUInt8(flags, at + FLAGS);
}

/** Decodes the record at `at`, as the log delivered it but for its rules, which stay encoded. */
export function readRecord(bytes: Buffer, at: number): LinkRecord {
  const key = at + KEY;
  const slash = key + (bytes[at + DOMAIN_LENGTH] ?? 0);
  const ids = keyEnd(bytes, at);
  const common = {
    version: versionAt(bytes, at),
    domain: bytes.toString("utf8", key, slash),
    alias: bytes.toString("utf8", slash + 1, ids),
  };
  if ((flagsAt(bytes, at) & ACTIVE) === 0) return { state: "deleted", ...common };
  const link = readActive(bytes, at, emptyLink());
  const { mode, destination, expires_at, password_hash, forward_query, settings, rules } = link;
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
    ...(settings === null ? {} : toMembers(parseSettings(settings), rules)),
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
  settings: null,
  rules: null,
});

/** Copies a link, so that it stays unchanged across an `await`. */
export const copyLink = (link: CachedLink): CachedLink => ({
  ...link,
  ids: copySlice(link.ids),
  destination: copySlice(link.destination),
  settings: link.settings === null ? null : copySlice(link.settings),
  rules: link.rules?.copy() ?? null,
});

/** A link that does not redirect: deleted (null), or taken down with its account or a host. */
export type CachedState = CachedLink | "taken_down" | null;

/** Reads the link at `at` into `link`, whose slices point into `bytes`. */
export function readLink(bytes: Buffer, at: number, link: CachedLink): CachedState {
  const flags = flagsAt(bytes, at);
  if ((flags & (ACTIVE | TAKEN_DOWN)) === ACTIVE) return readActive(bytes, at, link);
  return (flags & ACTIVE) === 0 ? null : "taken_down";
}

/** The fields of the record at `at` that takedowns use; undefined for a deleted link. */
export function readTakedownFields(bytes: Buffer, at: number): TakedownFields | undefined {
  const flags = flagsAt(bytes, at);
  if ((flags & ACTIVE) === 0) return undefined;
  const ids = keyEnd(bytes, at);
  const start = ids + 2 * ID_BYTES;
  const end = start + u16At(bytes, at + DESTINATION_LENGTH);
  const fields = {
    account_id: readUuid(bytes, ids + ID_BYTES),
    destination: bytes.toString("latin1", start, end),
  };
  if ((flags & SETTINGS) === 0) return fields;
  const settingsAt = end + u16At(bytes, at + PASSWORD_LENGTH);
  const settings = parseSettings(readSettings(bytes, settingsAt));
  return { ...fields, ...toMembers(settings, readRules(bytes, settingsAt)) };
}

/** Sets or clears a record's TAKEN_DOWN bit. */
export function setTakenDown(bytes: Buffer, at: number, takenDown: boolean): void {
  const flags = flagsAt(bytes, at);
  bytes[at + FLAGS] = takenDown ? flags | TAKEN_DOWN : flags & ~TAKEN_DOWN;
}

function readActive(bytes: Buffer, at: number, link: CachedLink): CachedLink {
  const flags = flagsAt(bytes, at);
  const { ids, destination } = link;
  ids.bytes = bytes;
  ids.start = keyEnd(bytes, at);
  ids.end = ids.start + 2 * ID_BYTES;
  destination.bytes = bytes;
  destination.start = ids.end;
  destination.end = ids.end + u16At(bytes, at + DESTINATION_LENGTH);
  link.version = versionAt(bytes, at);
  link.mode = (flags & TEST) === 0 ? "live" : "test";
  link.expires_at = (flags & EXPIRES) === 0 ? null : bytes.readDoubleLE(at + EXPIRY);
  link.password_hash = (flags & PASSWORD) === 0 ? null : readPassword(bytes, at, destination.end);
  link.forward_query = (flags & FORWARD_QUERY) !== 0;
  link.settings = null;
  link.rules = null;
  if ((flags & SETTINGS) !== 0) {
    const settingsAt = destination.end + u16At(bytes, at + PASSWORD_LENGTH);
    link.settings = readSettings(bytes, settingsAt);
    link.rules = readRules(bytes, settingsAt);
  }
  return link;
}

const readPassword = (bytes: Buffer, at: number, start: number): string =>
  bytes.toString("utf8", start, start + u16At(bytes, at + PASSWORD_LENGTH));

const versionAt = (bytes: Buffer, at: number): number => bytes.readDoubleLE(at + VERSION);

/** The end of the key of the record at `at`; it begins {@link KEY} bytes after `at`. */
export const keyEnd = (bytes: Buffer, at: number): number =>
  at + KEY + u16At(bytes, at + KEY_LENGTH);

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

/**
 * The part of a record that most links lack: a link's redirect settings but for its rules, and its
 * destination's UTM parameters. Little-endian: u16 length of both as one JSON object, u32 length of
 * the encoded rules, and these.
 */
export type CachedSettings = Omit<RedirectSettings, "rules"> & { utm?: string };

const JSON_LENGTH_BYTES = 2;
const RULES_LENGTH_BYTES = 4;

type EncodedSettings = { json: Buffer; rules: EncodedRules | undefined };

/** The settings of a link as they are written; undefined for most links. */
function encodeSettings({ extras, utm }: ActiveLink): EncodedSettings | undefined {
  if (extras === undefined && utm === undefined) return undefined;
  const { rules, ...settings } = extras ?? {};
  const cached: CachedSettings = utm === undefined ? settings : { ...settings, utm };
  return {
    json: Buffer.from(JSON.stringify(cached)),
    rules: rules === undefined ? undefined : encodeRules(rules),
  };
}

/** The record with its rules encoded, so that they are not encoded each time they are needed. */
export const withEncodedRules = (record: ActiveLink): ActiveLink =>
  record.extras?.rules === undefined
    ? record
    : { ...record, extras: { ...record.extras, rules: encodeRules(record.extras.rules) } };

const settingsSize = ({ json, rules }: EncodedSettings): number =>
  JSON_LENGTH_BYTES + json.length + RULES_LENGTH_BYTES + (rules?.size() ?? 0);

function writeSettings(bytes: Buffer, at: number, { json, rules }: EncodedSettings): void {
  bytes.writeUInt16LE(json.length, at);
  json.copy(bytes, at + JSON_LENGTH_BYTES);
  const rulesAt = at + JSON_LENGTH_BYTES + json.length;
  bytes.writeUInt32LE(rules?.size() ?? 0, rulesAt);
  rules?.writeTo(bytes, rulesAt + RULES_LENGTH_BYTES);
}

function readSettings(bytes: Buffer, at: number): ByteSlice {
  const start = at + JSON_LENGTH_BYTES;
  return { bytes, start, end: start + u16At(bytes, at) };
}

/** The rules of the settings at `at`; null for settings without. */
function readRules(bytes: Buffer, at: number): EncodedRules | null {
  const end = settingsEnd(bytes, at);
  const start = rulesLengthAt(bytes, at) + RULES_LENGTH_BYTES;
  return start === end ? null : new EncodedRules({ bytes, start, end });
}

function settingsEnd(bytes: Buffer, at: number): number {
  const rules = rulesLengthAt(bytes, at);
  return rules + RULES_LENGTH_BYTES + u32At(bytes, rules);
}

const rulesLengthAt = (bytes: Buffer, at: number): number =>
  at + JSON_LENGTH_BYTES + u16At(bytes, at);

/** Parses the settings of a link that has any. They were checked when the record was decoded. */
export const parseSettings = ({ bytes, start, end }: ByteSlice): CachedSettings =>
  JSON.parse(bytes.toString("utf8", start, end));

/** The members of a record that settings and rules are. */
function toMembers(
  { utm, ...settings }: CachedSettings,
  rules: EncodedRules | null,
): { extras?: RedirectSettings; utm?: string } {
  const extras: RedirectSettings = rules === null ? settings : { ...settings, rules };
  if (utm === undefined) return { extras };
  return Object.keys(extras).length === 0 ? { utm } : { extras, utm };
}
