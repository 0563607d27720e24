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
import { enqueueNotice } from "./notices.ts";
import {
  countLinks,
  findCollisions,
  finishRepublishing,
  finishSwitching,
  foldAliases,
  hasUnpublished,
  lockRepublishing,
  lockSwitching,
} from "./sql.ts";

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
  const links = await countLinks(transaction, id, SWITCHED_LINKS_MAX);
  if (links > SWITCHED_LINKS_MAX)
    throw invalidField(
      "case_sensitive",
      `cannot be changed on a domain with more than ${SWITCHED_LINKS_MAX} links`,
    );
  const collisions = case_sensitive
    ? []
    : await findCollisions(transaction, id, COLLISIONS_NAMED_MAX);
  if (collisions.length > 0)
    throw new ApiError(
      "aliases_collide",
      `These aliases differ only in case: ${collisions.join(", ")}.`,
      {
        param: "case_sensitive",
      },
    );
  await foldAliases(transaction, id, !case_sensitive);
  budgets.spend(payer, "changed_links", links);
}

/**
 * Calls `work` with a domain whose links must be published (`verified`) or withdrawn, unless
 * another process holds it. If `work` returns true, the domain is marked as done.
 */
export async function withRepublishing(
  sql: Sql,
  work: (id: Uuid, verified: boolean) => Promise<boolean>,
): Promise<void> {
  if (!(await hasUnpublished(sql))) return;
  await sql.begin(async (lock) => {
    const found = await lockRepublishing(lock);
    if (found === undefined || !(await work(found.id, found.verified))) return;
    await finishRepublishing(sql, found.id, found.verified);
  });
}

/**
 * Calls `work` with a domain that is switching, unless another process holds it. If `work`
 * returns true, the switch is complete, and its notice is published to the redirectors.
 */
export async function withSwitching(
  sql: Sql,
  publisher: LinksPublisher,
  work: (id: Uuid) => Promise<boolean>,
): Promise<void> {
  if (!(await hasUnpublished(sql))) return;
  await sql.begin(async (lock) => {
    const id = await lockSwitching(lock);
    if (id === undefined || !(await work(id))) return;
    await sql.begin(async (transaction) => {
      const row = await finishSwitching(transaction, id);
      if (row !== undefined) await enqueueNotice(transaction, row);
    });
    await publisher.publish();
  });
}
