/** Decodes a text file: UTF-8, and what Excel writes: UTF-16 ("Unicode text") and Windows-1252 ("CSV"). */
import { t } from "../../../languages/translate.ts";

export type DecodedText = { text: string; encoding: "UTF-8" | "UTF-16" | "Windows-1252" };

/** The first bytes of a ZIP archive, such as an .xlsx workbook. */
const ZIP = [0x50, 0x4b, 0x03, 0x04];

const UTF16_MARKS = [
  { mark: [0xff, 0xfe], label: "utf-16le" },
  { mark: [0xfe, 0xff], label: "utf-16be" },
] as const;

/** Bytes in which a NUL shows that a file is no text; the header of every binary format has one. */
const SNIFFED_BYTES = 1_024;

const startsWith = (bytes: Uint8Array, start: readonly number[]): boolean =>
  start.every((byte, i) => bytes[i] === byte);

/**
 * Decodes the content of a file, without its byte order mark. Text that is not valid UTF-8 counts as
 * Windows-1252, in which every byte is a character: the caller says so.
 */
export function decodeText(bytes: Uint8Array): DecodedText | { problem: string } {
  if (startsWith(bytes, ZIP)) return { problem: t("import.file.workbook") };
  const utf16 = UTF16_MARKS.find(({ mark }) => startsWith(bytes, mark));
  if (utf16 !== undefined) {
    const text = decode(bytes, utf16.label);
    return text === undefined ? { problem: t("import.file.binary") } : { text, encoding: "UTF-16" };
  }
  if (bytes.subarray(0, SNIFFED_BYTES).includes(0)) return { problem: t("import.file.binary") };
  const text = decode(bytes, "utf-8");
  if (text !== undefined) return { text, encoding: "UTF-8" };
  return { text: new TextDecoder("windows-1252").decode(bytes), encoding: "Windows-1252" };
}

/** Returns undefined if the bytes are not valid. */
function decode(bytes: Uint8Array, label: "utf-8" | "utf-16le" | "utf-16be"): string | undefined {
  try {
    return new TextDecoder(label, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
