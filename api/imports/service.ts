/** The operations on imports: begin, list and find them, and take them back. */
import { type ClickHouse, deleteRows } from "../../shared/clicks/query.ts";
import { ROLLUP_TABLES } from "../../shared/clicks/rollup-tables.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { retryDeadlock } from "../clicks/link-counters.ts";
import { ApiError } from "../http/errors.ts";
import { type AccountScope, OPERATOR } from "../http/principal.ts";
import type { LinkChanges } from "../links/change-links.ts";
import type { Sql } from "../postgres.ts";
import type { SegmentPublisher } from "./clicks.ts";
import { ImportCounters } from "./counters.ts";
import {
  beginImport,
  findAccounts,
  findImport,
  findImportOf,
  findRemovableLinks,
  holdImport,
  type ImportRow,
  listImportRows,
  setImportState,
} from "./sql.ts";

export type { ImportRow } from "./sql.ts";

export class ImportService {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Finds an account: by its id or, without one, the only account. Throws if that is not one. */
  async findAccount(id: Uuid | undefined): Promise<Uuid> {
    const [first, second] = await findAccounts(this.#sql, id);
    if (first === undefined) throw new Error("The account does not exist.");
    if (second !== undefined) throw new Error("There are several accounts: name one by --account.");
    return first.id;
  }

  /**
   * Begins to import a source into an account, or returns the account's earlier import of it.
   * `options` say how the source is read, without credentials.
   */
  async begin(
    owner: AccountScope,
    source: string,
    identity: string,
    options: Readonly<Record<string, string>>,
  ): Promise<ImportRow> {
    return await beginImport(this.#sql, { ...owner, id: newUuid(), source, identity, options });
  }

  /**
   * The import that {@link begin} returns, as it is before its links are counted, and without
   * storing one that is new: a check changes nothing.
   */
  async preview(
    { accountId, mode }: AccountScope,
    source: string,
    identity: string,
    options: Readonly<Record<string, string>>,
  ): Promise<ImportRow> {
    const found = await findImportOf(this.#sql, { accountId, mode, source, identity });
    if (found !== undefined && found.state !== "links") return found;
    return {
      id: newUuid(),
      number: 0,
      account_id: accountId,
      mode,
      source,
      identity,
      options,
      state: "links",
      page_end: null,
      segments: 0,
      publishing: [],
      visits: 0,
      left_out: 0,
      created_at: new Date(),
      ...found,
      created: 0,
      same: 0,
      taken: 0,
      refused: 0,
    };
  }

  /** All imports, in the order in which they were begun. */
  list(): Promise<ImportRow[]> {
    return listImportRows(this.#sql);
  }

  find(id: Uuid): Promise<ImportRow | undefined> {
    return findImport(this.#sql, id);
  }
}

// Takes an import back:
//
// 1. Links that it created are deleted, unless somebody has changed them since.
// 2. Of the others it is noted how many clicks of the import they have.
// 3. These clicks are deleted, from the table of clicks and from every rollup: all have the number
//    of the import.
// 4. The counters of the links that are left are lowered by them.
//
// Each step can be repeated, and a run that is killed is followed by another.

/** Links of one statement. */
const LINKS_AT_ONCE = 500;

/** After this time no worker writes counters that it read before the clicks were deleted. */
const COUNTERS_MS = 5_000;

export type Undone = { links_deleted: number; links_kept: number };

export class ImportUndo {
  readonly #sql: Sql;
  readonly #clickhouse: ClickHouse;
  readonly #changes: LinkChanges;
  readonly #publisher: SegmentPublisher;
  readonly #counters: ImportCounters;

  constructor(sql: Sql, clickhouse: ClickHouse, changes: LinkChanges, publisher: SegmentPublisher) {
    this.#sql = sql;
    this.#clickhouse = clickhouse;
    this.#changes = changes;
    this.#publisher = publisher;
    this.#counters = new ImportCounters(sql, clickhouse);
  }

  /** Undoes an import. Throws while a process runs it. */
  async undo(row: ImportRow): Promise<Undone> {
    const undone: Undone = { links_deleted: 0, links_kept: 0 };
    await holdImport(this.#sql, row.id, async () => {
      // What a killed run has published must not be stored later.
      await this.#publisher.drain();
      undone.links_deleted = await this.#deleteLinks(row);
      if (row.state !== "undoing") await this.#counters.noteLosses(row);
      await setImportState(this.#sql, row.id, "undoing");
      await this.#deleteClicks(row.number);
      await Bun.sleep(COUNTERS_MS);
      undone.links_kept = await this.#counters.lower(row);
      await setImportState(this.#sql, row.id, "undone");
    });
    return undone;
  }

  /** Deletes the links that the import created; returns how many. */
  async #deleteLinks({ id, account_id, mode }: ImportRow): Promise<number> {
    const owner = { accountId: account_id, mode, actor: OPERATOR, plan: "enterprise" };
    let deleted = 0;
    for (let after = ""; ;) {
      const found = await findRemovableLinks(this.#sql, id, after, LINKS_AT_ONCE);
      const last = found.at(-1);
      if (last === undefined) return deleted;
      const targets = found.map(({ link_id, version }) => ({
        id: link_id,
        requireVersion: (current: number) => requireSame(current, version),
      }));
      const { results } = await retryDeadlock(() => this.#changes.remove(owner, targets));
      deleted += results.filter((result) => "link" in result).length;
      after = last.source_id;
    }
  }

  async #deleteClicks(number: number): Promise<void> {
    const tables = ["clicks", ...ROLLUP_TABLES.map(({ table }) => table)];
    const deletions = tables.map((table) => ({ table, condition: "import = {import: UInt32}" }));
    await deleteRows(this.#clickhouse, deletions, { import: number });
  }
}

function requireSame(current: number, version: number): void {
  if (current !== version)
    throw new ApiError("precondition_failed", "The link was changed meanwhile.");
}
