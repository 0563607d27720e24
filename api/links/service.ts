/** The operations on links. Of HTTP it knows only the errors that clients receive. */
import type { Uuid } from "../../shared/ids.ts";
import { notFound } from "../http/errors.ts";
import type { AccountScope } from "../http/principal.ts";
import { createLink } from "./create-link.ts";
import { deleteLink } from "./delete-link.ts";
import type { LinkServiceDeps, WriteResult } from "./deps.ts";
import { listLinks } from "./list-links.ts";
import type { CreateLinkBody, LinkRow, ListLinksQuery, UpdateLinkBody } from "./model.ts";
import { findCreationTimes, findFirstCreation, findLink } from "./sql.ts";
import { updateLink } from "./update-link.ts";

/** An empty query parameter counts as absent. */
const emptyToNull = (text: string | undefined): string | null =>
  text === undefined || text === "" ? null : text;

export type LinkService = ReturnType<typeof createLinkService>;

export function createLinkService(deps: LinkServiceDeps) {
  const { sql } = deps;

  /** Finds one of the owner's links; throws `not_found`. */
  async function get(owner: AccountScope, id: Uuid | undefined): Promise<LinkRow> {
    const row = id === undefined ? undefined : await findLink(sql, owner, id);
    if (row === undefined) throw notFound("link");
    return row;
  }

  /** Returns a page of the owner's links that match, and the number of all matches. */
  async function list(owner: AccountScope, query: ListLinksQuery) {
    const { page, limit, sort, order } = query;
    const filter = { ...owner, search: emptyToNull(query.search), tag: emptyToNull(query.tag) };
    // No field of a link contains a control character, and PostgreSQL rejects NUL.
    if (/\p{Cc}/u.test(`${filter.search}${filter.tag}`)) return { rows: [], total: 0 };
    return await listLinks(sql, filter, { sort, order }, { limit, offset: (page - 1) * limit });
  }

  /** Creation times (Unix milliseconds) of those of the links that belong to the owner. */
  async function getCreationTimes(
    owner: AccountScope,
    ids: readonly Uuid[],
  ): Promise<Map<Uuid, number>> {
    const rows = await findCreationTimes(sql, owner, ids);
    return new Map(rows.map((row) => [row.id, row.created_at.getTime()]));
  }

  /** Creation time (Unix milliseconds) of the owner's oldest link; undefined without links. */
  async function getFirstCreationTime(owner: AccountScope): Promise<number | undefined> {
    return (await findFirstCreation(sql, owner))?.getTime();
  }

  return {
    get,
    list,
    getCreationTimes,
    getFirstCreationTime,
    create: (owner: AccountScope, id: Uuid, body: CreateLinkBody): Promise<WriteResult> =>
      createLink(deps, owner, id, body),
    update: (
      owner: AccountScope,
      id: Uuid | undefined,
      body: UpdateLinkBody,
    ): Promise<WriteResult> => updateLink(deps, owner, id, body),
    remove: (owner: AccountScope, id: Uuid | undefined): Promise<{ propagated: boolean }> =>
      deleteLink(deps, owner, id),
  };
}
