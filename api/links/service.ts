/** The operations on links. Independent of HTTP except for the errors that clients receive. */
import { newUuid, type Uuid } from "../../shared/ids.ts";
import type { RequireVersion } from "../http/etag.ts";
import type { ListPart, ListRequest, Position } from "../http/pagination.ts";
import type { AccountScope, Author, Writer } from "../http/principal.ts";
import { budgets, type Payer } from "../limits/budgets.ts";
import { missing } from "../owned-rows.ts";
import type { Sql } from "../postgres.ts";
import { TakedownReader } from "../takedowns/service.ts";
import { readCreations, readDeletions, readUpdates } from "./bulk/rows.ts";
import { deleteLinks, updateLinks } from "./change-links.ts";
import { chargeRows } from "./charges.ts";
import { checkLinks } from "./check-links.ts";
import { createLinks } from "./create-links.ts";
import type { LinkServiceDeps } from "./deps.ts";
import { explainRequest } from "./explain/explain.ts";
import type { ExplainBody, Explanation } from "./explain/model.ts";
import type { LinkOrder } from "./listing/filter.ts";
import { findLinks } from "./listing/list-links.ts";
import { toFilter } from "./listing/query.ts";
import { searchByShortUrl } from "./listing/search.ts";
import { createLinkLookups } from "./lookups.ts";
import type { CreateLinkBody, LinkRow, ListLinksQuery, UpdateLinkBody } from "./model.ts";
import { toRecord } from "./record.ts";
import { type LinkResults, onlyResult, type WriteResult } from "./results.ts";
import { findLink, findLinksInOrder } from "./sql.ts";
import { requireExternalLink, upsertLink } from "./upsert-link.ts";
import type { ReadUsedClicks } from "./used-clicks.ts";

type ServiceDeps = LinkServiceDeps & {
  /** Reads the number of used clicks of a link's click limit. */
  readUsedClicks: ReadUsedClicks;
};

export type LinkService = ReturnType<typeof createLinkService>;

export function createLinkService(deps: ServiceDeps) {
  const completion = createCompletion(deps.sql, deps.readUsedClicks);
  return {
    ...createReads(deps, completion),
    ...createWrites(deps, completion),
    ...createLinkLookups(deps),
  };
}

type Completion = ReturnType<typeof createCompletion>;

/** Adds values to a link that its row does not contain. */
function createCompletion(sql: Sql, readUsedClicks: ReadUsedClicks) {
  const takedowns = new TakedownReader(sql);

  /** Adds the number of used clicks, if the link has a limit. */
  async function withUsedClicks(row: LinkRow): Promise<LinkRow> {
    const ledger = row.extras?.ledger;
    const used = ledger === undefined ? undefined : await readUsedClicks(ledger);
    return used === undefined ? row : { ...row, used_clicks: used };
  }

  /** Sets whether a link is taken down with its account or host. */
  async function withTakedown(row: LinkRow): Promise<LinkRow> {
    const covers = await takedowns.read();
    if (covers === undefined || row.taken_down || !covers(toRecord(row))) return row;
    return { ...row, taken_down: true };
  }

  return {
    withTakedown,
    complete: async (row: LinkRow): Promise<LinkRow> =>
      await withUsedClicks(await withTakedown(row)),
  };
}

function createReads(deps: ServiceDeps, { complete }: Completion) {
  const { sql, destinationRules } = deps;

  /**
   * Finds one of the owner's links by itself, without what `get` adds from other stores; throws
   * `not_found`.
   */
  async function find(owner: AccountScope, id: Uuid | undefined): Promise<LinkRow> {
    const row = id === undefined ? undefined : await findLink(sql, owner, id);
    if (row === undefined) throw await missing(sql, owner, "links", id);
    return row;
  }

  /** Finds one of the owner's links; throws `not_found`. */
  const get = async (owner: AccountScope, id: Uuid | undefined): Promise<LinkRow> =>
    await complete(await find(owner, id));

  return {
    find,
    get,

    /** Finds one of the owner's links by the owner's own id; throws `not_found`. */
    async getExternal(owner: AccountScope, externalId: string): Promise<LinkRow> {
      return await complete(await requireExternalLink(deps, owner, externalId));
    },

    /**
     * Returns the requested part of the owner's matching links; by page with the number of all
     * matches. Throws `rate_limited` for a page when the owner's budget is used up.
     */
    async list(
      owner: AccountScope & Payer,
      given: ListLinksQuery,
      request: ListRequest,
    ): Promise<ListPart<LinkRow>> {
      const query = await searchByShortUrl(deps, owner, given);
      const filter = toFilter(owner, query, destinationRules);
      // No field of a link contains a control character, and PostgreSQL rejects NUL.
      if (filter === undefined) return { rows: [], total: 0, next: null };
      // By cursor a part reads few links, however many there are.
      if ("page" in request) budgets.require(owner, "listed_links");
      const { ids, read = 0, ...part } = await findLinks(sql, filter, query, request);
      budgets.spend(owner, "listed_links", read);
      const found = ids.length === 0 ? [] : await findLinksInOrder(sql, ids);
      const rows = await Promise.all(found.map(complete));
      if ("after" in request) return { ...part, rows };
      const last = rows.at(-1);
      const isMore = request.page * request.limit < (part.total ?? 0);
      const next = isMore && last !== undefined ? positionOf(last, query) : null;
      return { ...part, rows, next: part.next ?? next };
    },

    /** Finds one of the owner's links by its short URL; throws `not_found`. */
    async lookUp(
      owner: AccountScope,
      { alias, domain }: { alias: string; domain?: string | undefined },
    ): Promise<LinkRow> {
      const filter = toFilter(
        owner,
        { alias, domain: domain ?? destinationRules.shortUrl.hostname, archived: "any" },
        destinationRules,
      );
      const order = { sort: "created_at", order: "desc" } as const;
      const found = filter && (await findLinks(sql, filter, order, { limit: 1, after: null }));
      return await get(owner, found?.ids[0]);
    },

    /** Explains where a request for a link would be redirected; throws `not_found`. */
    explain: async (
      owner: AccountScope,
      id: Uuid | undefined,
      body: ExplainBody,
    ): Promise<Explanation> =>
      await explainRequest(await get(owner, id), body, destinationRules.ownHosts),
  };
}

function createWrites(deps: ServiceDeps, { withTakedown, complete }: Completion) {
  const create = async (owner: Writer, creations: Parameters<typeof createLinks>[2]) =>
    // A new link has no used clicks.
    await eachLink(await createLinks(deps, owner, creations), withTakedown);
  const update = async (owner: Writer, updates: Parameters<typeof updateLinks>[2]) =>
    await eachLink(await updateLinks(deps, owner, updates), complete);
  return {
    create: async (owner: Writer, id: Uuid, body: CreateLinkBody): Promise<WriteResult> =>
      onlyResult(await create(owner, [{ id, body }])),
    update: async (
      owner: Writer,
      id: Uuid | undefined,
      body: UpdateLinkBody,
      requireVersion?: RequireVersion,
    ): Promise<WriteResult> => onlyResult(await update(owner, [{ id, body, requireVersion }])),
    async upsert(owner: Writer, upsert: Parameters<typeof upsertLink>[2]) {
      const { link, ...result } = await upsertLink(deps, owner, upsert);
      return { ...result, link: await complete(link) };
    },
    remove: async (
      owner: Writer,
      id: Uuid | undefined,
      requireVersion?: RequireVersion,
    ): Promise<{ propagated: boolean }> =>
      onlyResult(await deleteLinks(deps, owner, [{ id, requireVersion }])),
    createMany: (owner: Writer, firstId: Uuid, rows: readonly unknown[]) =>
      chargeRows(owner, rows.length, () => create(owner, readCreations(firstId, rows))),
    /** Says which of many links could be created: see `check-links.ts`. */
    checkMany: (owner: Author, rows: readonly unknown[]) =>
      checkLinks(deps, owner, readCreations(newUuid(), rows)),
    updateMany: (owner: Writer, rows: readonly unknown[]) => update(owner, readUpdates(rows)),
    removeMany: (owner: Writer, ids: readonly string[]) =>
      deleteLinks(deps, owner, readDeletions(ids)),
  };
}

/** Applies a function to the links of a result. */
const eachLink = async (
  { results, propagated }: LinkResults,
  complete: (row: LinkRow) => Promise<LinkRow>,
): Promise<LinkResults> => ({
  results: await Promise.all(
    results.map(async (result) =>
      "link" in result ? { link: await complete(result.link) } : result,
    ),
  ),
  propagated,
});

/** The position of a link in a list. */
function positionOf(row: LinkRow, { sort }: LinkOrder): Position {
  const { id, clicks } = row;
  return { id, key: sort === "clicks" ? clicks : (row[sort]?.getTime() ?? 0) };
}
