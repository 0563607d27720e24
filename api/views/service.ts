/**
 * Saved views of analytics, filters of links and templates of UTM parameters. They belong to the
 * account and mode, as shares do: everyone in the account has the same.
 */
import type { ViewKind } from "../../shared/contracts/view-schemas.ts";
import { ApiError, notFound } from "../http/errors.ts";
import type { AccountScope } from "../http/principal.ts";
import { lockOwned } from "../owned-rows.ts";
import type { Sql } from "../postgres.ts";
import { type NamedQuery, requireParameters, type ViewRow } from "./model.ts";

/** Maximum of a kind in an account and mode: more than people find in a list. */
const VIEWS_MAX = 100;

export class ViewService {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Lists the owner's views by name. */
  list({ accountId, mode }: AccountScope, kind: ViewKind): Promise<ViewRow[]> {
    return this.#sql<ViewRow[]>`
      select name, query, created_at, updated_at from saved_views
       where account_id = ${accountId} and mode = ${mode} and kind = ${kind} order by name`;
  }

  /**
   * Saves a query, in place of the one with its name. Throws `invalid_request` for parameters that
   * the kind does not have, and `quota_exceeded` for one too many.
   */
  async save(owner: AccountScope, kind: ViewKind, { name, query }: NamedQuery): Promise<ViewRow> {
    requireParameters(kind, query);
    const { accountId, mode } = owner;
    return await this.#sql.begin(async (transaction) => {
      await lockOwned(transaction, owner, "views");
      const [{ others }] = await transaction<[{ others: number }]>`
        select count(*)::integer as others from saved_views
         where account_id = ${accountId} and mode = ${mode} and kind = ${kind} and name <> ${name}`;
      if (others >= VIEWS_MAX) throw tooMany();
      const [row] = await transaction<[ViewRow]>`
        insert into saved_views as view (account_id, mode, kind, name, query)
        values (${accountId}, ${mode}, ${kind}, ${name}, ${query})
        on conflict (account_id, mode, kind, name) do update
           set query = excluded.query, updated_at = greatest(now(), view.updated_at)
        returning name, query, created_at, updated_at`;
      return row;
    });
  }

  /** Throws `not_found`. */
  async remove({ accountId, mode }: AccountScope, kind: ViewKind, name: string): Promise<void> {
    const { count } = await this.#sql`
      delete from saved_views
       where account_id = ${accountId} and mode = ${mode} and kind = ${kind} and name = ${name}`;
    if (count === 0) throw notFound(CALLED[kind]);
  }
}

const CALLED = { analytics: "view", links: "filter", utm: "template" } as const;

const tooMany = (): ApiError =>
  new ApiError(
    "quota_exceeded",
    `The account has ${VIEWS_MAX} of these already. Delete one of them first.`,
  );
