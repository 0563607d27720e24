/**
 * Public identifiers are TypeIDs: a UUIDv7 in Crockford base32 behind a prefix that names the kind
 * (https://github.com/jetify-com/typeid). Stores hold the plain UUID.
 */
import { TypeID } from "typeid-js";

export type IdKind = "acct" | "key" | "link" | "dom" | "user" | "inv";

/** A UUID in its canonical lower-case text form. */
export type Uuid = string;

/** Makes a new UUIDv7; later ids sort after earlier ones. */
export const newUuid = (): Uuid => Bun.randomUUIDv7();

/** Writes a UUID as a public id, e.g. `link_01jd…`. */
export const encodeId = (kind: IdKind, uuid: Uuid): string =>
  TypeID.fromUUID(kind, uuid).toString();

/** Reads a public id of the given kind; undefined when it is not one. */
export function decodeId(kind: IdKind, id: string): Uuid | undefined {
  // The longest TypeID of ours is 31 characters; no parser needs to see more.
  if (id.length > 40) return undefined;
  try {
    return TypeID.fromString(id, kind).toUUID();
  } catch {
    return undefined;
  }
}
