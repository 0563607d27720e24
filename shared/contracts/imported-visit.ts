/**
 * A visit of another product as a click: its record says that it is imported, and has what is known
 * of the visitor in place of the short URL's query.
 *
 * Format: lines of import number, `1` if it is one visitor's, country, device, browser, system,
 * region and city. A record may truncate what is last.
 */
import { truncateText } from "../bytes.ts";
import { composeLetters, toSingleLine } from "./text.ts";

export type ImportedVisit = {
  /** The number of its import, above 0: clicks have it in ClickHouse. */
  import: number;
  /** Whether it was one visit: a source that only counts days knows of no visitors. */
  isVisit: boolean;
  /** Empty where the source does not know it: then the address, or the user agent, tells. */
  country: string;
  region: string;
  city: string;
  device: string;
  browser: string;
  os: string;
};

/** Longest text of each; all of them fit into the query of a record. */
const TEXT_BYTES_MAX = 80;

/** With composed letters, as filters have them. */
const toLine = (text: string): string =>
  truncateText(composeLetters(toSingleLine(text)), TEXT_BYTES_MAX);

/** Writes what is known of a visit as the query of its record. */
export const formatImportedVisit = (visit: ImportedVisit): string =>
  [
    String(visit.import),
    visit.isVisit ? "1" : "0",
    ...[visit.country, visit.device, visit.browser, visit.os, visit.region, visit.city].map(toLine),
  ].join("\n");

/** Reads what {@link formatImportedVisit} wrote; of another text, what it has. */
export function parseImportedVisit(query: string): ImportedVisit {
  const [number = "", isVisit = "", country = "", device = "", browser = "", ...rest] =
    query.split("\n");
  const [os = "", region = "", city = ""] = rest;
  return {
    import: IMPORT_NUMBER.test(number) ? Number(number) : IMPORT_UNKNOWN,
    isVisit: isVisit === "1",
    country,
    region,
    city,
    device,
    browser,
    os,
  };
}

/** A number that fits into ClickHouse's column. */
const IMPORT_NUMBER = /^[1-9]\d{0,8}$/;

/** Of a record that no import wrote: no import has this number. */
const IMPORT_UNKNOWN = 4_294_967_295;
