/** Creates or updates the link with an external id. */
import type * as z from "zod";

import { toAsciiHost } from "../../shared/contracts/ascii-host.ts";
import { updateLinkBody } from "../../shared/contracts/link-schemas.ts";
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

/** Fields of a body that name a link, and are no settings of it. */
const NAMES = new Set(["url", "alias", "external_id"]);

/** How a request says that a setting is off: the first of these that the setting takes. */
const OFF = [null, false, [], "all"];

/**
 * What a link has of which a request that replaces it says nothing. Of the schema, so that no
 * setting can be forgotten.
 */
const NOTHING_SET: UpdateLinkBody = updateLinkBody.parse(
  Object.fromEntries(
    Object.entries(updateLinkBody.shape)
      .filter(([name]) => !NAMES.has(name))
      .map(([name, setting]) => [name, offValueOf(name, setting)]),
  ),
);

function offValueOf(name: string, setting: z.ZodType): unknown {
  const off = OFF.find((value) => setting.safeParse(value).success);
  if (off === undefined) throw new Error(`No request switches ${name} off.`);
  return off;
}

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
