/** Creates a link. */
import type { Uuid } from "../../shared/ids.ts";
import { futureInstant } from "../http/common-schemas.ts";
import type { AccountScope } from "../http/principal.ts";
import { isForeignKeyViolation, isUniqueViolation } from "../postgres.ts";
import { generateAlias, GENERATED_LENGTH } from "./alias.ts";
import type { LinkServiceDeps, WriteResult } from "./deps.ts";
import type { CreateLinkBody, LinkRow } from "./model.ts";
import { toRecord } from "./record.ts";
import { findLink, insertLink, type NewLink } from "./sql.ts";
import { aliasTaken, hashLinkPassword, requireAlias, requireDestination } from "./validation.ts";

/** Collisions of generated aliases after which the next ones get one character longer. */
const COLLISIONS_BEFORE_LONGER = 3;
const COLLISIONS_MAX = 12;

/**
 * Creates a link and publishes it to the redirectors. The caller chooses the id, which makes the creation
 * idempotent. Throws `invalid_url`, `invalid_alias`, `alias_taken`, `invalid_request` or `rate_limited`.
 */
export async function createLink(
  deps: LinkServiceDeps,
  owner: AccountScope,
  id: Uuid,
  body: CreateLinkBody,
): Promise<WriteResult> {
  const { sql, feed } = deps;
  const alias = body.alias ?? undefined;
  if (alias !== undefined) requireAlias(alias);
  const link = await prepareLink(deps, owner, id, body);
  try {
    const inserted =
      alias === undefined
        ? await insertWithGeneratedAlias(deps, link)
        : await insert(deps, { ...link, alias });
    const propagated = await feed.publish(inserted.record, inserted.outboxId);
    return { link: inserted.row, propagated };
  } catch (error) {
    // An earlier attempt of the same request may have committed the link.
    const existing = await findLink(sql, owner, id);
    if (existing !== undefined) return { link: existing, propagated: false };
    // The domain was removed after it was resolved: fails as an unverified domain.
    if (isForeignKeyViolation(error)) await resolveDomain(deps, owner, body);
    throw isUniqueViolation(error, "links_alias_key") ? aliasTaken(alias ?? "") : error;
  }
}

/** The custom domain that a request names, or null for the service's own domain. */
const resolveDomain = async (
  { domains }: LinkServiceDeps,
  owner: AccountScope,
  { domain }: CreateLinkBody,
) => (typeof domain === "string" ? await domains.requireVerified(owner, domain) : null);

/** Validates the body and builds the row, without its alias. */
async function prepareLink(
  deps: LinkServiceDeps,
  owner: AccountScope,
  id: Uuid,
  body: CreateLinkBody,
): Promise<Omit<NewLink, "alias">> {
  const domain = await resolveDomain(deps, owner, body);
  const destination = await requireDestination(body.url, deps);
  const created_at = new Date();
  return {
    id,
    account_id: owner.accountId,
    mode: owner.mode,
    domain_id: domain?.id ?? null,
    domain_host: domain?.host ?? null,
    original_url: destination.original,
    target_url: destination.href,
    title: body.title ?? null,
    expires_at: futureInstant("expires_at", body.expires_at, created_at),
    utm_source: body.utm_source ?? null,
    utm_medium: body.utm_medium ?? null,
    utm_campaign: body.utm_campaign ?? null,
    utm_term: body.utm_term ?? null,
    utm_content: body.utm_content ?? null,
    forward_query: body.forward_query ?? false,
    tags: body.tags ?? [],
    // Last, because hashing is the only costly step.
    password_hash: await hashLinkPassword(deps.passwords, owner.accountId, body.password),
    created_at,
  };
}

async function insertWithGeneratedAlias(deps: LinkServiceDeps, link: Omit<NewLink, "alias">) {
  for (let collisions = 0; collisions < COLLISIONS_MAX; collisions++) {
    const extraLength = Math.floor(collisions / COLLISIONS_BEFORE_LONGER);
    try {
      return await insert(deps, { ...link, alias: generateAlias(GENERATED_LENGTH + extraLength) });
    } catch (error) {
      if (!isUniqueViolation(error, "links_alias_key")) throw error;
    }
  }
  throw new Error(`No free alias after ${COLLISIONS_MAX} tries.`);
}

async function insert({ sql }: LinkServiceDeps, link: NewLink) {
  const draft = toRecord(link);
  const { version, outboxId } = await insertLink(sql, link, draft);
  const row: LinkRow = {
    ...link,
    version,
    updated_at: link.created_at,
    clicks: 0,
    unique_clicks: 0,
  };
  return { row, record: { ...draft, version }, outboxId };
}
