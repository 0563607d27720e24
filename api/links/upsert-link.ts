/** Creates or updates the link with an external id. */
import { toAsciiHost } from "../../shared/contracts/ascii-host.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import { ApiError, invalidField, notFound, unavailable } from "../http/errors.ts";
import type { RequireVersion } from "../http/etag.ts";
import type { AccountScope, Writer } from "../http/principal.ts";
import { updateLinks } from "./change-links.ts";
import { chargeRows } from "./charges.ts";
import { createLinks } from "./create-links.ts";
import type { LinkServiceDeps } from "./deps.ts";
import type { LinkRow, UpdateLinkBody, UpsertLinkBody } from "./model.ts";
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

/** Finds the owner's link with this external id; throws `not_found`. */
export async function requireExternalLink(
  { sql }: Pick<LinkServiceDeps, "sql">,
  owner: AccountScope,
  externalId: string,
): Promise<LinkRow> {
  const row = await findExternalLink(sql, owner, externalId);
  if (row === undefined) throw notFound("link");
  return row;
}

/** What a link has of which a request that replaces it says nothing. */
const NOTHING_SET = {
  title: null,
  notes: null,
  expires_at: null,
  password: null,
  utm_source: null,
  utm_medium: null,
  utm_campaign: null,
  utm_term: null,
  utm_content: null,
  forward_query: false,
  tags: [],
  starts_at: null,
  disabled: false,
  archived: false,
  expired_url: null,
  rules: null,
  split: null,
  preview: null,
  forward_path: null,
  max_clicks: null,
  limit_counts: "all",
  confirm: false,
} as const satisfies Required<Omit<UpdateLinkBody, "url" | "alias" | "external_id">>;

/**
 * Replaces the owner's link with this external id by the body, or creates it; a link keeps its
 * alias where the body has none.
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
      const { domain, alias, ...fields } = body;
      if (typeof domain === "string" && toAsciiHost(domain) !== existing.domain_host) {
        throw invalidField("domain", "cannot be changed");
      }
      const change = {
        ...NOTHING_SET,
        // As in a creation.
        ...(typeof fields.max_clicks === "number" ? { limit_counts: "human" as const } : {}),
        ...withoutAbsent(fields),
        ...(typeof alias === "string" ? { alias } : {}),
      };
      const update = { id: existing.id, body: change, requireVersion };
      return { ...onlyResult(await updateLinks(deps, owner, [update])), created: false };
    } catch (error) {
      if (!isRace(error, existing?.id)) throw error;
    }
  }
  throw unavailable("Other requests create and delete this link at the same time.");
}

/** The fields that a request has: one that is left out is not there. */
const withoutAbsent = <Fields extends object>(fields: Fields): Partial<Fields> =>
  // The same fields, or fewer.
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Partial<Fields>;

/** Whether another request created the link that was missing, or deleted the one that was there. */
const isRace = (error: unknown, existing: Uuid | undefined): boolean =>
  error instanceof ApiError &&
  error.reason === (existing === undefined ? "external_id_taken" : notFound("link").reason);
