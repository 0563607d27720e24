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

  /** The account with an id, or the only one. Throws when there is none, or which is not said. */
  async findAccount(id: Uuid | undefined): Promise<Uuid> {
    const [first, second] = await findAccounts(this.#sql, id);
    if (first === undefined) throw new Error("The account does not exist.");
    if (second !== undefined)
      throw new Error("There are several accounts: say which by --account.");
    return first.id;
  }

  /**
   * Begins the import of a source into an account, or returns the one that the account has of it.
   * `options` are how it is read, without credentials.
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

/** An import that is not written: of a check, which changes nothing. */
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
