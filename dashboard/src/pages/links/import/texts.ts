/** Texts of an import that are composed. */
import { t } from "../../../languages/translate.ts";

/** The name of a column; its number if it has none. */
export const describeColumn = (name: string, column: number): string =>
  name === "" ? t("import.columnWithoutName", { number: column + 1 }) : name;

/** Says how far an import is, and how long it still takes. */
export const describeProgress = (
  done: number,
  total: number,
  restMs: number | undefined,
): string =>
  restMs === undefined
    ? t("import.run.importing", { done, total })
    : t("import.run.importingLeft", { done, total, time: describeDuration(restMs) });

function describeDuration(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  return seconds < 90
    ? t("import.run.seconds", { count: seconds })
    : t("import.run.minutes", { count: Math.ceil(seconds / 60) });
}

const DELIMITERS = {
  ",": "import.delimiters.commas",
  ";": "import.delimiters.semicolons",
  "\t": "import.delimiters.tabs",
  "|": "import.delimiters.bars",
} as const;

type Delimiter = keyof typeof DELIMITERS;

export function describeSeparator(separator: Delimiter): string {
  const name = t(DELIMITERS[separator]);
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

/** Describes a file that was read: `The Bitly export contains 3 rows, …`. */
export function describeFile(
  service: string | undefined,
  rows: number,
  { delimiter, encoding }: { delimiter: Delimiter; encoding: string },
): string {
  const values = { count: rows, separator: t(DELIMITERS[delimiter]), encoding };
  return service === undefined
    ? t("import.file.unknown", values)
    : t("import.file.known", { ...values, service });
}

/** What the export of a service itself loses. */
export function serviceWarning(service: string | undefined): string | undefined {
  if (service === "Dub") return t("import.file.dubWarning");
  return service === "Shlink" ? t("import.file.shlinkWarning") : undefined;
}

/** `3 of 4 links can be imported.` */
export const describeCheck = (possible: number, total: number): string =>
  possible === total
    ? t("import.checked.all", { count: total })
    : t("import.checked.some", { possible, count: total });
