/** A CSV file as a source: see `shared/link-csv/link-table.ts`. */
import { readFileSync, statSync } from "node:fs";
import { basename } from "node:path";

import { FILE_BYTES_MAX } from "../../shared/link-csv/file.ts";
import { LinkTable, type TableLink, type TableReading } from "../../shared/link-csv/link-table.ts";
import { type Cursor, type Page, Source, type SourceLink } from "./source.ts";

/** Maximum rows of a page. */
const ROWS_MAX = 1_000;

export class CsvFile extends Source {
  readonly #table: LinkTable;

  /** Throws for a file that cannot be read, and for options that name no column or field. */
  constructor(path: string, options: TableReading = {}) {
    super();
    // Where a link has two back-halves, both may be in print.
    this.#table = new LinkTable(basename(path), readBytes(path), "both", options);
  }

  /** Identifies a file by its name and content: a corrected one is a new one. */
  static identify(path: string): string {
    return `${basename(path)}:${Bun.hash(readBytes(path)).toString(36)}`;
  }

  links(after: Cursor | null): Promise<Page<SourceLink>> {
    const from = Number(after?.["from"] ?? 0);
    const end = from + ROWS_MAX;
    const rows = this.#table.links(from, end).map(toSourceLink);
    return Promise.resolve({ rows, next: end < this.#table.rows ? { from: end } : null });
  }
}

function readBytes(path: string): Uint8Array {
  if (statSync(path).size > FILE_BYTES_MAX) throw new Error("The file is too large: split it.");
  return readFileSync(path);
}

/** Imports a link whose password the file does not have as disabled. */
function toSourceLink(link: TableLink): SourceLink {
  const { row, nth, alias = "", host = null, createdAt, refused, isLocked } = link;
  const { url, title, tags, expires_at: expiry, ...rest } = link.settings;
  return {
    id: nth === 0 ? String(row) : `${row}/${nth}`,
    domain: host,
    alias,
    url,
    ...(typeof title === "string" ? { title } : {}),
    ...(Array.isArray(tags) ? { tags: tags.map(String) } : {}),
    ...(createdAt === undefined ? {} : { createdAt }),
    ...(typeof expiry === "string" && refused === undefined ? { expiresAt: new Date(expiry) } : {}),
    settings: {
      ...rest,
      ...(isLocked ? { disabled: true } : {}),
      // Only one link can have an external id.
      ...(nth === 0 ? {} : { external_id: null }),
    },
    ...(isLocked ? { left: ["its password: it is disabled until it gets one"] } : {}),
    ...(refused === undefined ? {} : { refused }),
  };
}
