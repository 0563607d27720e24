/** Making links. */
import type { Uuid } from "../../shared/ids.ts";
import { futureInstant } from "../http/fields.ts";
import { isForeignKeyViolation, isUniqueViolation } from "../postgres.ts";
import { generateAlias, GENERATED_LENGTH } from "./alias.ts";
import type { CreateLinkBody, LinkRow } from "./model.ts";
import { toRecord } from "./record.ts";
import { aliasTaken, hashLinkPassword, requireAlias, requireTarget } from "./rules.ts";
import type { LinkServiceDeps, Written } from "./service.ts";
import { findLink, insertLink, type NewLink, type Owner } from "./sql.ts";

/** Collisions of generated aliases after which they get longer. */
const COLLISIONS_BEFORE_LONGER = 3;
const COLLISIONS_MAX = 12;

export function createLinkMaker({ sql, feed, domains, targetRules }: LinkServiceDeps) {
  /**
   * Creates a link under an id of the caller's choice, once whatever happens, and tells the
   * redirectors. Throws `invalid_url`, `invalid_alias`, `alias_taken` or `invalid_request`.
   */
  async function create(owner: Owner, id: Uuid, body: CreateLinkBody): Promise<Written> {
    const alias = body.alias ?? undefined;
    if (alias !== undefined) requireAlias(alias);
    const draft = await draftOf(owner, id, body);
    try {
      const made =
        alias === undefined ? await insertGenerated(draft) : await insert({ ...draft, alias });
      return { link: made.row, propagated: await feed.publish(made.record, made.outboxId) };
    } catch (error) {
      // An earlier run of the same request may have got as far as the database.
      const own = await findLink(sql, owner, id);
      if (own !== undefined) return { link: own, propagated: false };
      // A domain that was removed meanwhile is no longer a verified one.
      if (isForeignKeyViolation(error)) await domainOf(owner, body);
      throw isUniqueViolation(error, "links_alias_key") ? aliasTaken(alias ?? "") : error;
    }
  }

  const domainOf = async (owner: Owner, { domain }: CreateLinkBody) =>
    typeof domain === "string" ? await domains.requireVerified(owner, domain) : null;

  async function draftOf(
    owner: Owner,
    id: Uuid,
    body: CreateLinkBody,
  ): Promise<Omit<NewLink, "alias">> {
    const domain = await domainOf(owner, body);
    const target = await requireTarget(body.url, { targetRules, domains });
    const created_at = new Date();
    return {
      id,
      account_id: owner.accountId,
      mode: owner.mode,
      domain_id: domain?.id ?? null,
      domain_host: domain?.host ?? null,
      original_url: target.original,
      target_url: target.href,
      title: body.title ?? null,
      expires_at: futureInstant("expires_at", body.expires_at, created_at),
      utm_source: body.utm_source ?? null,
      utm_medium: body.utm_medium ?? null,
      utm_campaign: body.utm_campaign ?? null,
      utm_term: body.utm_term ?? null,
      utm_content: body.utm_content ?? null,
      forward_query: body.forward_query ?? false,
      tags: body.tags ?? [],
      // Last, for it is the only costly one.
      password_hash: await hashLinkPassword(body.password),
      created_at,
    };
  }

  async function insertGenerated(link: Omit<NewLink, "alias">) {
    for (let collisions = 0; collisions < COLLISIONS_MAX; collisions++) {
      const longer = Math.floor(collisions / COLLISIONS_BEFORE_LONGER);
      try {
        return await insert({ ...link, alias: generateAlias(GENERATED_LENGTH + longer) });
      } catch (error) {
        if (!isUniqueViolation(error, "links_alias_key")) throw error;
      }
    }
    throw new Error(`No free alias after ${COLLISIONS_MAX} tries.`);
  }

  async function insert(link: NewLink) {
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

  return create;
}
