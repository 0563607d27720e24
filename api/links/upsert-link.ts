/** Creates or updates the link with an external id. */
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { ApiError, invalidField, notFound, unavailable } from "../http/errors.ts";
import type { RequireVersion } from "../http/etag.ts";
import type { Writer } from "../http/principal.ts";
import { updateLinks } from "./change-links.ts";
import { chargeRows } from "./charges.ts";
import { createLinks } from "./create-links.ts";
import type { LinkServiceDeps } from "./deps.ts";
import type { UpsertLinkBody } from "./model.ts";
import { onlyResult, type WriteResult } from "./results.ts";
import { findExternalLink } from "./sql.ts";

/** Maximum attempts while other requests create and delete the link concurrently. */
const ATTEMPTS_MAX = 5;

type Upsert = {
  externalId: string;
  body: UpsertLinkBody;
  requireVersion: RequireVersion;
  /** Whether only an existing link may be changed. */
  mustExist: boolean;
};

/**
 * Updates the owner's link with this external id by the fields of the body, or creates it.
 * Concurrent upserts of one id create one link. A creation takes a row of the budget of those in
 * bulk. Throws what creating and updating throw.
 */
export async function upsertLink(
  deps: LinkServiceDeps,
  owner: Writer,
  { externalId, body, requireVersion, mustExist }: Upsert,
): Promise<WriteResult & { created: boolean }> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const existing = await findExternalLink(deps.sql, owner, externalId);
    try {
      if (existing === undefined) {
        if (mustExist) throw new ApiError("precondition_failed", "There is no such link.");
        const creation = { id: newUuid(), body: { ...body, external_id: externalId } };
        const outcome = await chargeRows(owner, 1, () => createLinks(deps, owner, [creation]));
        return { ...onlyResult(outcome), created: true };
      }
      const { domain, alias, ...changes } = body;
      if (typeof domain === "string" && domain.toLowerCase() !== existing.domain_host) {
        throw invalidField("domain", "cannot be changed");
      }
      const change = { ...changes, ...(typeof alias === "string" ? { alias } : {}) };
      const update = { id: existing.id, body: change, requireVersion };
      return { ...onlyResult(await updateLinks(deps, owner, [update])), created: false };
    } catch (error) {
      if (!isRace(error, existing?.id)) throw error;
    }
  }
  throw unavailable("Other requests create and delete this link at the same time.");
}

/** Whether another request created the link that was missing, or deleted the one that was there. */
const isRace = (error: unknown, existing: Uuid | undefined): boolean =>
  error instanceof ApiError &&
  error.reason === (existing === undefined ? "external_id_taken" : notFound("link").reason);
