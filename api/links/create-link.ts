/** Creates a link. */
import { toMessage } from "../../shared/contracts/link-record.ts";
import type { Uuid } from "../../shared/ids.ts";
import { checkAll } from "../http/check-all.ts";
import { futureInstant } from "../http/common-schemas.ts";
import type { AccountScope } from "../http/principal.ts";
import { isForeignKeyViolation } from "../postgres.ts";
import { COLLISIONS_MAX, generateAlias, lengthAfter } from "./alias.ts";
import type { LinkServiceDeps, WriteResult } from "./deps.ts";
import { ALIAS_LENGTH_MAX, type CreateLinkBody, type LinkRow } from "./model.ts";
import { sizeProblem, toRecord } from "./record.ts";
import { changeSettings, prepareSettings } from "./settings/change.ts";
import { findLink, insertLink, type NewLink } from "./sql.ts";
import {
  hashLinkPassword,
  isAliasTaken,
  requireAlias,
  requireDestination,
  toTaken,
} from "./validation.ts";

/** A validated link, without its alias. */
export type PreparedLink = Omit<NewLink, "alias">;

/** An alias of maximum length. */
const LONGEST_ALIAS = "x".repeat(ALIAS_LENGTH_MAX);

/**
 * Creates a link and publishes it to the redirectors. The caller chooses the id, which makes the
 * creation idempotent. Throws `invalid_url`, `invalid_alias`, `alias_taken`, `invalid_request` or
 * `rate_limited`.
 */
export async function createLink(
  deps: LinkServiceDeps,
  owner: AccountScope,
  id: Uuid,
  body: CreateLinkBody,
): Promise<WriteResult> {
  const { sql, feed } = deps;
  const alias = body.alias ?? undefined;
  const link = await prepareLink(deps, owner, id, body);
  try {
    const inserted =
      alias === undefined
        ? await insertWithGeneratedAlias(deps, link)
        : await insert(deps, { ...link, alias });
    const propagated = await feed.publish(inserted.message, inserted.outboxId, "absent");
    return { link: inserted.row, propagated };
  } catch (error) {
    // An earlier attempt of the same request may have committed the link.
    const existing = await findLink(sql, owner, id);
    if (existing !== undefined) return { link: existing, propagated: false };
    // The domain was removed after it was resolved: report it as an unverified domain.
    if (isForeignKeyViolation(error)) await resolveDomain(deps, owner, body);
    throw toTaken(error, alias);
  }
}

/** The custom domain that a request names, or null for the service's own domain. */
const resolveDomain = async (
  { domains }: LinkServiceDeps,
  owner: AccountScope,
  { domain }: CreateLinkBody,
) => (typeof domain === "string" ? await domains.requireVerified(owner, domain) : null);

/** Validates the body and builds the row, without its alias. Throws what creating a link throws. */
export async function prepareLink(
  deps: LinkServiceDeps,
  owner: AccountScope,
  id: Uuid,
  body: CreateLinkBody,
): Promise<PreparedLink> {
  const created_at = new Date();
  const [, domain, destination, settings, expires_at] = await checkAll([
    () => (typeof body.alias === "string" ? requireAlias(body.alias) : undefined),
    () => resolveDomain(deps, owner, body),
    () => requireDestination(body.url, deps),
    () => prepareSettings(deps, body),
    () => futureInstant("expires_at", body.expires_at, created_at),
  ]);
  const link: PreparedLink = {
    id,
    account_id: owner.accountId,
    mode: owner.mode,
    domain_id: domain?.id ?? null,
    domain_host: domain?.host ?? null,
    original_url: destination.original,
    target_url: destination.href,
    title: body.title ?? null,
    expires_at,
    utm_source: body.utm_source ?? null,
    utm_medium: body.utm_medium ?? null,
    utm_campaign: body.utm_campaign ?? null,
    utm_term: body.utm_term ?? null,
    utm_content: body.utm_content ?? null,
    forward_query: body.forward_query ?? false,
    tags: body.tags ?? [],
    external_id: body.external_id ?? null,
    extras: changeSettings(null, settings),
    archived: body.archived ?? false,
    taken_down: false,
    folded: domain?.caseSensitive === false,
    served: true,
    // Last, because hashing is the only costly step.
    password_hash: await hashLinkPassword(deps.passwords, owner.accountId, body.password),
    created_at,
  };
  // Checked here, so that in a bulk request only this link fails.
  const problem = sizeProblem({ ...link, alias: body.alias ?? LONGEST_ALIAS });
  if (problem !== undefined) throw problem;
  return link;
}

async function insertWithGeneratedAlias(deps: LinkServiceDeps, link: PreparedLink) {
  for (let collisions = 0; collisions < COLLISIONS_MAX; collisions++) {
    try {
      return await insert(deps, { ...link, alias: generateAlias(lengthAfter(collisions, link)) });
    } catch (error) {
      if (!isAliasTaken(error)) throw error;
    }
  }
  throw new Error(`No free alias after ${COLLISIONS_MAX} tries.`);
}

async function insert({ sql }: LinkServiceDeps, link: NewLink) {
  const message = toMessage(toRecord(link));
  const { version, outboxId } = await insertLink(sql, link, message);
  const row: LinkRow = {
    ...link,
    version,
    updated_at: link.created_at,
    clicks: 0,
    unique_clicks: 0,
  };
  return { row, message: { ...message, version }, outboxId };
}
