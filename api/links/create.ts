/** Making links. */
import { newUuid } from "../../shared/ids.ts";
import { futureInstant } from "../http/fields.ts";
import { isUniqueViolation } from "../postgres.ts";
import { generateAlias, GENERATED_LENGTH } from "./alias.ts";
import type { CreateLinkBody, LinkRow } from "./model.ts";
import { toRecord } from "./record.ts";
import { aliasTaken, hashPassword, requireAlias, requireTarget } from "./rules.ts";
import type { LinkServiceDeps, Written } from "./service.ts";
import { insertLink, type NewLink, type Owner } from "./sql.ts";

/** Collisions of generated aliases after which they get longer. */
const COLLISIONS_BEFORE_LONGER = 3;
const COLLISIONS_MAX = 12;

export function createLinkMaker({ sql, feed, targetRules }: LinkServiceDeps) {
  /**
   * Creates a link and tells the redirectors. Throws `invalid_url`, `invalid_alias`, `alias_taken` or
   * `invalid_request`.
   */
  async function create(owner: Owner, body: CreateLinkBody): Promise<Written> {
    const target = requireTarget(body.url, targetRules);
    const alias = body.alias ?? undefined;
    if (alias !== undefined) requireAlias(alias);
    const created_at = new Date();
    const draft = {
      id: newUuid(),
      account_id: owner.accountId,
      mode: owner.mode,
      original_url: target.original,
      target_url: target.href,
      title: body.title ?? null,
      password_hash: await hashPassword(body.password),
      expires_at: futureInstant("expires_at", body.expires_at, created_at),
      utm_source: body.utm_source ?? null,
      utm_medium: body.utm_medium ?? null,
      utm_campaign: body.utm_campaign ?? null,
      utm_term: body.utm_term ?? null,
      utm_content: body.utm_content ?? null,
      forward_query: body.forward_query ?? false,
      created_at,
    };
    const made =
      alias === undefined ? await insertGenerated(draft) : await insertChosen({ ...draft, alias });
    return { link: made.row, propagated: await feed.publish(made.record, made.outboxId) };
  }

  async function insertChosen(link: NewLink) {
    try {
      return await insert(link);
    } catch (error) {
      if (!isUniqueViolation(error, "links_alias_key")) throw error;
      throw aliasTaken(link.alias);
    }
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
      domain_host: null,
      version,
      updated_at: link.created_at,
      clicks: 0,
      unique_clicks: 0,
    };
    return { row, record: { ...draft, version }, outboxId };
  }

  return create;
}
