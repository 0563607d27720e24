/** Reads the file of an import. */
import { t } from "../../../languages/translate.ts";
import { type DecodedText, decodeText } from "./decode-text.ts";
import { type FileTable, parseRows } from "./parse-rows.ts";
import { isEscaped, recognizeService, type Service } from "./services.ts";

const MB = 1024 ** 2;
/** A link with all of its settings takes some 500 bytes. */
const FILE_BYTES_MAX = 50 * 1024 ** 2;

export type ImportFile = FileTable & {
  name: string;
  encoding: DecodedText["encoding"];
  /** The service that has exported it, if it is known. */
  service: Service | undefined;
  /** Its cells are escaped against formulas: this dashboard has written it. */
  isEscaped: boolean;
};

/** Reads a file. Returns a problem as a sentence. */
export async function readImportFile(file: File): Promise<ImportFile | { problem: string }> {
  if (file.size > FILE_BYTES_MAX)
    return { problem: t("import.file.tooMany.MB", { max: FILE_BYTES_MAX / MB }) };
  const bytes = await file.arrayBuffer().catch(() => undefined);
  if (bytes === undefined) return { problem: t("import.file.unreadable") };
  return parseImportFile(file.name, new Uint8Array(bytes));
}

/** Parses the content of a file. Returns a problem as a sentence. */
export function parseImportFile(name: string, bytes: Uint8Array): ImportFile | { problem: string } {
  const decoded = decodeText(bytes);
  if ("problem" in decoded) return decoded;
  const table = parseRows(decoded.text);
  if ("problem" in table) return table;
  const service = recognizeService(table.columns);
  return {
    ...table,
    name,
    encoding: decoded.encoding,
    service,
    isEscaped: isEscaped(table.columns, service),
  };
}
