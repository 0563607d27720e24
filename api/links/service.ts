/** What can be done with links. Knows nothing of HTTP but the errors a client is told of. */
import type { Uuid } from "../../shared/ids.ts";
import type { DomainService } from "../domains/service.ts";
import type { LinkFeed } from "../feed/link-feed.ts";
import { notFound } from "../http/errors.ts";
import type { Sql } from "../postgres.ts";
import { createLinkChanger } from "./change.ts";
import { createLinkMaker } from "./create.ts";
import { findLinks } from "./listing.ts";
import type { LinkRow, ListLinksQuery } from "./model.ts";
import { findCreationTimes, findFirstCreation, findLink, type Owner } from "./sql.ts";
import type { TargetRules } from "./target-url.ts";

export type LinkServiceDeps = {
  sql: Sql;
  feed: Pick<LinkFeed, "publish">;
  domains: Pick<DomainService, "requireVerified" | "isCustom">;
  targetRules: TargetRules;
};

/**
 * A link that was written. `propagated` is false when the links feed could not be reached: the link
 * is safe, and the redirectors are told later.
 */
export type Written = { link: LinkRow; propagated: boolean };

/** An empty parameter is none. */
const textOf = (text: string | undefined): string | null =>
  text === undefined || text === "" ? null : text;

export type LinkService = ReturnType<typeof createLinkService>;

export function createLinkService(deps: LinkServiceDeps) {
  const { sql } = deps;

  /** Finds one of the owner's links; throws `not_found`. */
  async function get(owner: Owner, id: Uuid | undefined): Promise<LinkRow> {
    const row = id === undefined ? undefined : await findLink(sql, owner, id);
    if (row === undefined) throw notFound("link");
    return row;
  }

  /** A page of the owner's links, and how many there are. */
  async function list(owner: Owner, query: ListLinksQuery) {
    const { page, limit, sort, order } = query;
    const filter = { ...owner, search: textOf(query.search), tag: textOf(query.tag) };
    // No field of a link holds a control character, and PostgreSQL takes no NUL.
    if (/\p{Cc}/u.test(`${filter.search}${filter.tag}`)) return { rows: [], total: 0 };
    return await findLinks(sql, filter, { sort, order }, { limit, offset: (page - 1) * limit });
  }

  /** When those of the links that are the owner's were made, in Unix milliseconds. */
  async function createdAt(owner: Owner, ids: readonly Uuid[]): Promise<Map<Uuid, number>> {
    const rows = await findCreationTimes(sql, owner, ids);
    return new Map(rows.map((row) => [row.id, row.created_at.getTime()]));
  }

  /** When the owner's first link was made, of those that are left; in Unix milliseconds. */
  async function firstCreatedAt(owner: Owner): Promise<number | undefined> {
    return (await findFirstCreation(sql, owner))?.getTime();
  }

  return {
    create: createLinkMaker(deps),
    get,
    list,
    createdAt,
    firstCreatedAt,
    ...createLinkChanger(deps),
  };
}
