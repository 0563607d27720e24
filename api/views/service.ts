/**
 * Saved views of analytics, filters of links and templates of UTM parameters. They belong to the
 * account and mode, as shares do: everyone in the account has the same.
 */
import * as z from "zod";

import { ofEachUtm } from "../../shared/contracts/analytics.ts";
import { newLinkBody } from "../../shared/contracts/link-schemas.ts";
import type { ViewKind } from "../../shared/contracts/view-schemas.ts";
import { recordEvents } from "../events/record.ts";
import { ApiError, notFound } from "../http/errors.ts";
import type { AccountScope, Author } from "../http/principal.ts";
import { validateValue } from "../http/validation.ts";
import { linkConditions } from "../links/model.ts";
import { lockOwned } from "../owned-rows.ts";
import type { Sql, Transaction } from "../postgres.ts";

/** Maximum of a kind in an account and mode: more than people find in a list. */
const VIEWS_MAX = 100;

/** A query, and the name under which it is saved. */
export type NamedQuery = { name: string; query: string };

/** As stored in PostgreSQL. */
export type ViewRow = NamedQuery & { created_at: Date; updated_at: Date };

export class ViewService {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Lists the owner's views by name: at most as many as the owner may have. */
  list({ accountId, mode }: AccountScope, kind: ViewKind): Promise<ViewRow[]> {
    return this.#sql<ViewRow[]>`
      select name, query, created_at, updated_at from saved_views
       where account_id = ${accountId} and mode = ${mode} and kind = ${kind} order by name`;
  }

  /**
   * Saves a query, in place of the one with its name. Throws `invalid_request` for parameters that
   * the kind does not have, and `quota_exceeded` for one too many.
   */
  async save(owner: Author, kind: ViewKind, view: NamedQuery): Promise<ViewRow> {
    requireParameters(kind, view.query);
    const { accountId, mode } = owner;
    const { name, query } = view;
    return await this.#sql.begin(async (sql) => {
      if ((await lockAndCountOtherViews(sql, owner, kind, name)) >= VIEWS_MAX) throw tooMany();
      const [row] = await sql<[ViewRow]>`
        insert into saved_views as view (account_id, mode, kind, name, query)
        values (${accountId}, ${mode}, ${kind}, ${name}, ${query})
        on conflict (account_id, mode, kind, name) do update
           set query = excluded.query, updated_at = greatest(now(), view.updated_at)
        returning name, query, created_at, updated_at`;
      await recordView(sql, owner, "view.saved", { kind, name });
      return row;
    });
  }

  /** Throws `not_found`. */
  async remove(owner: Author, kind: ViewKind, name: string): Promise<void> {
    const { accountId, mode } = owner;
    await this.#sql.begin(async (sql) => {
      const { count } = await sql`
        delete from saved_views
         where account_id = ${accountId} and mode = ${mode} and kind = ${kind} and name = ${name}`;
      if (count === 0) throw notFound(CALLED[kind]);
      await recordView(sql, owner, "view.deleted", { kind, name });
    });
  }
}

/** Queries of analytics have the parameters that their reader understands. */
const PARAMETERS: Readonly<Record<ViewKind, z.ZodType>> = {
  analytics: z.unknown(),
  links: linkConditions.strict(),
  utm: z.strictObject(ofEachUtm((name) => newLinkBody.shape[name])),
};

function requireParameters(kind: ViewKind, query: string): void {
  // In one pass: `getAll` for each of thousands of names would take a fifth of a second.
  const byName = Map.groupBy(new URLSearchParams(query), ([name]) => name);
  const values = [...byName].map(([name, found]) => {
    const [first, ...others] = found.map(([, value]) => value);
    return [name, others.length === 0 ? first : [first, ...others]] as const;
  });
  validateValue(PARAMETERS[kind], Object.fromEntries(values));
}

/** Counts the views except the named one, and blocks new ones until the transaction ends. */
async function lockAndCountOtherViews(
  sql: Transaction,
  owner: AccountScope,
  kind: ViewKind,
  name: string,
): Promise<number> {
  await lockOwned(sql, owner, "views");
  const [{ total }] = await sql<[{ total: number }]>`
    select count(*)::integer as total from saved_views
     where account_id = ${owner.accountId} and mode = ${owner.mode} and kind = ${kind}
       and name <> ${name}`;
  return total;
}

const recordView = (
  sql: Transaction,
  owner: Author,
  type: "view.saved" | "view.deleted",
  view: { kind: ViewKind; name: string },
): Promise<void> => recordEvents(sql, owner, [{ type, objectId: null, data: { view } }]);

const CALLED = { analytics: "view", links: "filter", utm: "template" } as const;

const tooMany = (): ApiError =>
  new ApiError(
    "quota_exceeded",
    `The account has ${VIEWS_MAX} of these already. Delete one of them first.`,
  );
