/**
 * Saved views of analytics. They belong to the account and mode, as shares do: everyone in the
 * account has the same.
 */
import { ApiError, notFound } from "../http/errors.ts";
import type { AccountScope } from "../http/principal.ts";
import type { Sql } from "../postgres.ts";
import type { ViewRow } from "./model.ts";
import { deleteView, listViews, lockAndCountOtherViews, putView } from "./sql.ts";

export type ViewService = ReturnType<typeof createViewService>;

/** Maximum views of an account and mode: more than people find in a list. */
const VIEWS_MAX = 100;

export const createViewService = ({ sql }: { sql: Sql }) => ({
  list: (owner: AccountScope): Promise<ViewRow[]> => listViews(sql, owner),

  /**
   * Saves a view, in place of the one with its name. Throws `quota_exceeded` for a view too many.
   */
  save: async (owner: AccountScope, view: Pick<ViewRow, "name" | "query">): Promise<ViewRow> =>
    await sql.begin(async (transaction) => {
      if ((await lockAndCountOtherViews(transaction, owner, view.name)) >= VIEWS_MAX)
        throw tooMany();
      return await putView(transaction, owner, view);
    }),

  /** Throws `not_found`. */
  async remove(owner: AccountScope, name: string): Promise<void> {
    if (!(await deleteView(sql, owner, name))) throw notFound("view");
  },
});

const tooMany = (): ApiError =>
  new ApiError(
    "quota_exceeded",
    `The account has ${VIEWS_MAX} saved views already. Delete one of them first.`,
  );
