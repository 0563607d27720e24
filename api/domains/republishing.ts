/**
 * Domains whose links change together: a domain that switches its aliases' case, and one that was
 * verified or released.
 */
import type { Uuid } from "../../shared/ids.ts";
import { ApiError, invalidField } from "../http/errors.ts";
import { budgets, type Payer } from "../limits/budgets.ts";
import type { LinksPublisher } from "../links-log/publisher.ts";
import type { Sql, Transaction } from "../postgres.ts";
import type { DomainRow } from "./model.ts";
import { domainColumns, enqueueNotice } from "./notices.ts";

/** Maximum links of a domain that may switch: each is rewritten and republished. */
const SWITCHED_LINKS_MAX = 10_000;

/** Maximum aliases that an error names. */
const COLLISIONS_NAMED_MAX = 50;

/**
 * Makes the aliases of a locked domain case-insensitive or case-sensitive. Throws
 * `aliases_collide`, `invalid_request` for a domain with more than {@link SWITCHED_LINKS_MAX}
 * links, and `rate_limited` when nothing is left of the account's budget of changed links.
 */
export async function switchCase(
  transaction: Transaction,
  { id, case_sensitive, switching }: DomainRow,
  payer: Payer,
): Promise<void> {
  if (switching) throw new ApiError("conflict", "The domain is still switching.");
  budgets.require(payer, "changed_links");
  const [{ links }] = await transaction<[{ links: number }]>`
    select count(*)::integer as links
      from (select from links where domain_id = ${id} limit ${SWITCHED_LINKS_MAX + 1}) counted`;
  if (links > SWITCHED_LINKS_MAX)
    throw invalidField(
      "case_sensitive",
      `cannot be changed on a domain with more than ${SWITCHED_LINKS_MAX} links`,
    );
  if (!case_sensitive) await requireDistinct(transaction, id);
  // Updating thousands of rows with all their indexes takes longer than the statement timeout of a
  // request.
  await transaction`set local statement_timeout = '30s'`;
  await transaction`
    update links set folded = ${!case_sensitive}
     where domain_id = ${id} and folded is distinct from ${!case_sensitive}`;
  budgets.spend(payer, "changed_links", links);
}

/** Throws `aliases_collide` if aliases of a domain differ only in case. */
async function requireDistinct(transaction: Transaction, id: Uuid): Promise<void> {
  const rows = await transaction<{ alias: string }[]>`
    select alias from links
     where domain_id = ${id} and fold_alias(alias) in (
             select fold_alias(alias) from links where domain_id = ${id} group by fold_alias(alias) having count(*) > 1)
     order by fold_alias(alias), alias limit ${COLLISIONS_NAMED_MAX}`;
  if (rows.length === 0) return;
  const aliases = rows.map(({ alias }) => alias).join(", ");
  const message = `These aliases differ only in case: ${aliases}.`;
  throw new ApiError("aliases_collide", message, { param: "case_sensitive" });
}

/** A domain whose links must be published again: it has changed hands, or it switches. */
export type UnpublishedDomain = {
  id: Uuid;
  republishing: boolean;
  switching: boolean;
  verified: boolean;
};

/**
 * Calls `work` with a domain whose links must be published or withdrawn, unless another process
 * holds it. If `work` returns true, the domain is marked as done, and redirectors are told of a
 * switch that is complete.
 */
export async function withRepublishing(
  sql: Sql,
  publisher: LinksPublisher,
  work: (domain: UnpublishedDomain) => Promise<boolean>,
): Promise<void> {
  if (!(await hasUnpublished(sql))) return;
  await sql.begin(async (lock) => {
    // Any of them: one that fails keeps no other waiting. No lock of the row, which would block the
    // creation of links.
    const [found] = await lock<UnpublishedDomain[]>`
      with unpublished as materialized (
        select id, republishing, switching, verified_at is not null as verified
          from domains where republishing or switching order by random())
      select * from unpublished
       where pg_try_advisory_xact_lock(hashtextextended(id::text, 2)) limit 1`;
    if (found === undefined || !(await work(found))) return;
    await sql.begin(async (transaction) => {
      // Unless the domain has changed hands meanwhile; what has begun meanwhile is not done.
      const [row] = await transaction<DomainRow[]>`
        update domains
           set republishing = republishing and not ${found.republishing},
               switching = switching and not ${found.switching}
         where id = ${found.id} and (verified_at is not null) = ${found.verified}
        returning ${domainColumns(transaction)}`;
      if (found.switching && row !== undefined) await enqueueNotice(transaction, row);
    });
    await publisher.publish();
  });
}

/**
 * Whether any domain has links to publish, by the indexes `domains_switching` and
 * `domains_republishing`.
 */
async function hasUnpublished(sql: Sql): Promise<boolean> {
  const [row] = await sql<[{ found: boolean }]>`
    select exists (select from domains where switching) or exists (select from domains where republishing) as found`;
  return row.found;
}
