/** The operations on imports: begin, list and find them. */
import { newUuid, type Uuid } from "../../shared/ids.ts";
import type { AccountScope } from "../http/principal.ts";
import type { Sql } from "../postgres.ts";
import { beginImport, findAccounts, findImport, type ImportRow, listImportRows } from "./sql.ts";

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

  /** All imports, in the order in which they were begun. */
  list(): Promise<ImportRow[]> {
    return listImportRows(this.#sql);
  }

  find(id: Uuid): Promise<ImportRow | undefined> {
    return findImport(this.#sql, id);
  }
}

/** The import of a check, which is not stored: a check changes nothing. */
export const unwrittenImport = (
  { accountId, mode }: AccountScope,
  source: string,
  identity: string,
  options: Readonly<Record<string, string>>,
): ImportRow => ({
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
  created: 0,
  same: 0,
  taken: 0,
  refused: 0,
  visits: 0,
  left_out: 0,
  created_at: new Date(),
  updated_at: new Date(),
});
