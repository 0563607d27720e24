/** Deletes a link. */
import type { Uuid } from "../../shared/ids.ts";
import type { RequireVersion } from "../http/etag.ts";
import type { AccountScope } from "../http/principal.ts";
import { changeLink } from "./change-link.ts";
import type { LinkServiceDeps } from "./deps.ts";
import { shortLinkOf } from "./record.ts";
import { deleteLinkRow, lockAliases } from "./sql.ts";
import { requireNotTakenDown } from "./validation.ts";

/**
 * Deletes a link permanently, frees its alias and publishes the deletion to the redirectors; throws
 * `not_found`, and `link_taken_down`.
 */
export async function deleteLink(
  deps: Pick<LinkServiceDeps, "sql" | "feed">,
  owner: AccountScope,
  id: Uuid | undefined,
  requireVersion?: RequireVersion,
): Promise<{ propagated: boolean }> {
  const { propagated } = await changeLink(
    deps,
    owner,
    id,
    async (transaction, link) => {
      requireNotTakenDown(link);
      const shortLink = shortLinkOf(link);
      await lockAliases(transaction, [shortLink]);
      const version = await deleteLinkRow(transaction, link.id);
      return { result: undefined, records: [{ state: "deleted", version, ...shortLink }] };
    },
    requireVersion,
  );
  return { propagated };
}
