/** Deletes a link. */
import type { Uuid } from "../../shared/ids.ts";
import type { AccountScope } from "../http/principal.ts";
import { changeLink } from "./change-link.ts";
import type { LinkServiceDeps } from "./deps.ts";
import { feedDomain } from "./record.ts";
import { deleteLinkRow, lockAliases } from "./sql.ts";

/**
 * Deletes a link permanently, frees its alias and publishes the deletion to the redirectors; throws
 * `not_found`.
 */
export async function deleteLink(
  deps: Pick<LinkServiceDeps, "sql" | "feed">,
  owner: AccountScope,
  id: Uuid | undefined,
): Promise<{ propagated: boolean }> {
  const { propagated } = await changeLink(deps, owner, id, async (transaction, link) => {
    const shortLink = { domain: feedDomain(link), alias: link.alias };
    await lockAliases(transaction, [shortLink]);
    const version = await deleteLinkRow(transaction, link.id);
    return { result: undefined, records: [{ state: "deleted", version, ...shortLink }] };
  });
  return { propagated };
}
