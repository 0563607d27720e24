/**
 * Public ids are TypeIDs: a prefix for the kind, then a UUIDv7 in Crockford base32
 * (https://github.com/jetify-com/typeid). Databases store the plain UUID.
 */
import { TypeID } from "typeid-js";

export type IdKind =
  | "acct"
  | "key"
  | "link"
  | "dom"
  | "user"
  | "sess"
  | "pk"
  | "inv"
  | "rule"
  | "arm"
  | "shr"
  | "event"
  | "wh"
  | "dlv"
  | "rpt"
  | "imp";

/** A UUID in canonical lower-case text. */
export type Uuid = string;

/** Nobody's id, before every other one (RFC 9562, 5.9). */
export const NIL_UUID = "00000000-0000-0000-0000-000000000000";

/** Creates a UUIDv7; later ones sort after earlier ones. */
export const newUuid = (): Uuid => Bun.randomUUIDv7();

/** A UUIDv7 of a time in Unix milliseconds whose random part is a hash of the content. */
export function hashedUuid(time: number, content: string): Uuid {
  const hash = new Bun.CryptoHasher("sha256").update(content).digest("hex");
  const variant = "89ab"[Number.parseInt(hash[3] ?? "0", 16) & 3] ?? "8";
  const hex = `${time.toString(16).padStart(12, "0")}7${hash.slice(0, 3)}${variant}${hash.slice(4, 19)}`;
  return formatUuid(hex);
}

/** Encodes a UUID as a public id, e.g. `link_01jd…`. */
export const encodeId = (kind: IdKind, uuid: Uuid): string =>
  TypeID.fromUUID(kind, uuid).toString();

/** Decodes a public id of the given kind; undefined when it is not one. */
export function decodeId(kind: IdKind, id: string): Uuid | undefined {
  // The longest public id has 31 characters; longer input is not parsed.
  if (id.length > 40) return undefined;
  try {
    return TypeID.fromString(id, kind).toUUID();
  } catch {
    return undefined;
  }
}

/** Bytes of an encoded UUID. */
export const ID_BYTES = 16;

/** Writes a UUID as {@link ID_BYTES} bytes. */
export function writeUuid(target: Buffer, offset: number, uuid: Uuid): void {
  let at = offset;
  for (let i = 0; i < uuid.length; i += 2) {
    if (uuid.charCodeAt(i) === HYPHEN) i++;
    target[at++] = (hexDigit(uuid.charCodeAt(i)) << 4) | hexDigit(uuid.charCodeAt(i + 1));
  }
}

const HYPHEN = 0x2d;

/** The value of a hexadecimal digit in either case. */
const hexDigit = (code: number): number => (code & 0xf) + (code > 0x39 ? 9 : 0);

/** Reads a UUID that {@link writeUuid} wrote. */
export const readUuid = (bytes: Buffer, offset: number): Uuid =>
  formatUuid(bytes.toString("hex", offset, offset + ID_BYTES));

/** Formats 32 hexadecimal digits as a UUID. */
export const formatUuid = (hex: string): Uuid =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
