/** UUIDs as bytes. */
import type { Uuid } from "./ids.ts";

/** Bytes of an encoded UUID. */
export const ID_BYTES = 16;

/** Writes a UUID as {@link ID_BYTES} bytes. */
export function writeUuid(target: Buffer, offset: number, uuid: Uuid): void {
  target.write(uuid.replaceAll("-", ""), offset, ID_BYTES, "hex");
}

/** Reads a UUID that {@link writeUuid} wrote. */
export const readUuid = (bytes: Buffer, offset: number): Uuid =>
  formatUuid(bytes.toString("hex", offset, offset + ID_BYTES));

/** Formats 32 hexadecimal digits as a UUID. */
export const formatUuid = (hex: string): Uuid =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
