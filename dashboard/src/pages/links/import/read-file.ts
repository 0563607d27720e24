/** Reads the file of an import, and says what is wrong with it. */
import {
  FILE_BYTES_MAX,
  type LinkFile,
  parseLinkFile,
} from "../../../../../shared/link-csv/file.ts";
import { t } from "../../../languages/translate.ts";

const MB = 1024 ** 2;

export type ImportFile = LinkFile & { name: string };

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
  const file = parseLinkFile(bytes);
  if (!("problem" in file)) return { ...file, name };
  const { kind, values } = file.problem;
  return { problem: t(`import.file.${kind}`, values) };
}
