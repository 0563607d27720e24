/**
 * Saved views of analytics, filters of links and templates of UTM parameters. They belong to the
 * account and mode, as shares do: everyone in the account has the same.
 */
import type { ViewKind } from "../../shared/contracts/view-schemas.ts";
import { recordEvents } from "../events/record.ts";
import { ApiError, notFound } from "../http/errors.ts";
import type { AccountScope, Author } from "../http/principal.ts";
import type { Sql, Transaction } from "../postgres.ts";
import { type NamedQuery, requireParameters, type ViewRow } from "./model.ts";
import { deleteView, listViews, lockAndCountOtherViews, putView } from "./sql.ts";

/** Maximum of a kind in an account and mode: more than people find in a list. */
const VIEWS_MAX = 100;

export class ViewService {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  list(owner: AccountScope, kind: ViewKind): Promise<ViewRow[]> {
    return listViews(this.#sql, owner, kind);
  }

  /**
   * Saves a query, in place of the one with its name. Throws `invalid_request` for parameters that
   * the kind does not have, and `quota_exceeded` for one too many.
   */
  async save(owner: Author, kind: ViewKind, view: NamedQuery): Promise<ViewRow> {
    requireParameters(kind, view.query);
    return await this.#sql.begin(async (transaction) => {
      if ((await lockAndCountOtherViews(transaction, owner, kind, view.name)) >= VIEWS_MAX)
        throw tooMany();
      const row = await putView(transaction, owner, kind, view);
      await recordView(transaction, owner, "view.saved", { kind, name: view.name });
      return row;
    });
  }

  /** Throws `not_found`. */
  async remove(owner: Author, kind: ViewKind, name: string): Promise<void> {
    await this.#sql.begin(async (transaction) => {
      if (!(await deleteView(transaction, owner, kind, name))) throw notFound(CALLED[kind]);
      await recordView(transaction, owner, "view.deleted", { kind, name });
    });
  }
}

const recordView = (
  transaction: Transaction,
  owner: Author,
  type: "view.saved" | "view.deleted",
  view: { kind: ViewKind; name: string },
): Promise<void> => recordEvents(transaction, owner, [{ type, objectId: null, data: { view } }]);

const CALLED = { analytics: "view", links: "filter", utm: "template" } as const;

const tooMany = (): ApiError =>
  new ApiError(
    "quota_exceeded",
    `The account has ${VIEWS_MAX} of these already. Delete one of them first.`,
  );
