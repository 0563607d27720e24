/** The options that an import starts with. */
import type { TagSeparator } from "../csv-values.ts";
import { findDateOrder } from "./dates.ts";
import { DATE_FIELDS, findField, type Mapping } from "./fields.ts";
import type { DomainChoice, ImportOptions, PlanInput } from "./model.ts";
import type { FileRow } from "./parse-rows.ts";
import { listHosts } from "./places.ts";
import type { ImportFile } from "./read-file.ts";

/** Rows that show what separates tags. */
const SAMPLED_ROWS = 1_000;

export const suggestOptions = (
  { rows, service }: Pick<ImportFile, "rows" | "service">,
  mapping: Mapping,
  hosts: PlanInput["hosts"],
): ImportOptions => ({
  // Our own export says of each link which domain it is on.
  domain: service?.isEscaped === true ? { from: "file" } : suggestDomain(rows, mapping, hosts),
  archived: "keep",
  backHalves: "custom",
  dateOrder: findDateOrder(listDates(rows, mapping)).order,
  tags: "",
  separator: service?.separator ?? findSeparator(rows, findField(mapping, "tags")),
});

/** The texts of the columns that are dates. */
export const listDates = (rows: readonly FileRow[], mapping: Mapping): string[] => {
  const columns = DATE_FIELDS.map((field) => findField(mapping, field)).filter((i) => i >= 0);
  return rows.flatMap(({ cells }) => columns.map((column) => cells[column] ?? ""));
};

/**
 * The domains of the file if one of them is the account's own, because only then can the others be
 * recognized.
 */
function suggestDomain(
  rows: readonly FileRow[],
  mapping: Mapping,
  { own, domains }: PlanInput["hosts"],
): DomainChoice {
  const isKnown = rows.some(({ cells }) =>
    listHosts((field) => cells[findField(mapping, field)]?.trim() ?? "").some(
      (host) => host === own || domains.has(host),
    ),
  );
  return isKnown ? { from: "file" } : { domain: "" };
}

function findSeparator(rows: readonly FileRow[], column: number): TagSeparator {
  const texts = rows.slice(0, SAMPLED_ROWS).map(({ cells }) => cells[column] ?? "");
  const separators = ["|", ";"] as const;
  return separators.find((separator) => texts.some((text) => text.includes(separator))) ?? ",";
}
