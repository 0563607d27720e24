/** The operations on links. Independent of HTTP except for the errors that clients receive. */
import type { Uuid } from "../../shared/ids.ts";
import type { ReadSpentClicks } from "../feed/spent-clicks.ts";
import { notFound } from "../http/errors.ts";
import type { RequireVersion } from "../http/etag.ts";
import type { ListPart, ListRequest, Position } from "../http/pagination.ts";
import type { AccountScope } from "../http/principal.ts";
import type { Sql } from "../postgres.ts";
import { createTakedownReader } from "../takedowns/service.ts";
import { checkLinks } from "./bulk/check.ts";
import { createLinks } from "./bulk/create.ts";
import type { BulkResult } from "./bulk/model.ts";
import { deleteLinks, updateLinks } from "./bulk/update.ts";
import { createLink } from "./create-link.ts";
import { deleteLink } from "./delete-link.ts";
import type { LinkServiceDeps, WriteResult } from "./deps.ts";
import { explainRequest } from "./explain/explain.ts";
import type { ExplainBody, Explanation } from "./explain/model.ts";
import type { LinkOrder } from "./listing/filter.ts";
import { findLinks } from "./listing/list-links.ts";
import { toFilter } from "./listing/query.ts";
import { createLinkLookups } from "./lookups.ts";
import type { CreateLinkBody, LinkRow, ListLinksQuery, UpdateLinkBody } from "./model.ts";
import { toRecord } from "./record.ts";
import { findLink, findLinksInOrder } from "./sql.ts";
import { updateLink } from "./update-link.ts";
import { upsertLink } from "./upsert-link.ts";

type ServiceDeps = LinkServiceDeps & {
  /** Reads the number of used clicks of a link's click limit. */
  readSpentClicks: ReadSpentClicks;
};

export type LinkService = ReturnType<typeof createLinkService>;

export function createLinkService(deps: ServiceDeps) {
  const completion = createCompletion(deps.sql, deps.readSpentClicks);
  return {
    ...createReads(deps, completion),
    ...createWrites(deps, completion),
    ...createBulkWrites(deps, completion),
    ...createLinkLookups(deps),
  };
}

type Completion = ReturnType<typeof createCompletion>;

/** Adds values to a link that its row does not contain. */
function createCompletion(sql: Sql, readSpentClicks: ReadSpentClicks) {
  const readTakedowns = createTakedownReader(sql);

  /** Adds the number of used clicks, if the link has a limit. */
  async function withSpentClicks(row: LinkRow): Promise<LinkRow> {
    const ledger = row.extras?.ledger;
    const spent = ledger === undefined ? undefined : await readSpentClicks(ledger);
    return spent === undefined ? row : { ...row, spent_clicks: spent };
  }

  /** Sets whether a link is taken down with its account or host. */
  async function withTakedown(row: LinkRow): Promise<LinkRow> {
    const covers = await readTakedowns();
    if (covers === undefined || row.taken_down || !covers(toRecord(row))) return row;
    return { ...row, taken_down: true };
  }

  return {
    withTakedown,
    complete: async (row: LinkRow): Promise<LinkRow> =>
      await withSpentClicks(await withTakedown(row)),
  };
}

function createReads(deps: ServiceDeps, { complete }: Completion) {
  const { sql, destinationRules } = deps;

  /** Finds one of the owner's links; throws `not_found`. */
  async function get(owner: AccountScope, id: Uuid | undefined): Promise<LinkRow> {
    const row = id === undefined ? undefined : await findLink(sql, owner, id);
    if (row === undefined) throw notFound("link");
    return await complete(row);
  }

  return {
    get,

    /**
     * Returns the requested part of the owner's matching links; by page with the number of all
     * matches.
     */
    async list(
      owner: AccountScope,
      query: ListLinksQuery,
      request: ListRequest,
    ): Promise<ListPart<LinkRow>> {
      const filter = toFilter(owner, query, destinationRules);
      // No field of a link contains a control character, and PostgreSQL rejects NUL.
      if (filter === undefined) return { rows: [], total: 0, next: null };
      const { ids, ...part } = await findLinks(sql, filter, query, request);
      const found = ids.length === 0 ? [] : await findLinksInOrder(sql, ids);
      const rows = query.include === undefined ? found : await Promise.all(found.map(complete));
      if ("after" in request) return { ...part, rows };
      const last = rows.at(-1);
      const isMore = request.page * request.limit < (part.total ?? 0);
      const next = isMore && last !== undefined ? positionOf(last, query) : null;
      return { ...part, rows, next: part.next ?? next };
    },

    /** Finds one of the owner's links by its short URL; throws `not_found`. */
    async lookUp(owner: AccountScope, alias: string, domain: string | undefined): Promise<LinkRow> {
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
      explainRequest(await get(owner, id), body, destinationRules.ownHosts),
  };
}

function createWrites(deps: ServiceDeps, { withTakedown, complete }: Completion) {
  const written = async <Result extends WriteResult>(result: Result): Promise<Result> => ({
    ...result,
    link: await complete(result.link),
  });
  return {
    async create(owner: AccountScope, id: Uuid, body: CreateLinkBody): Promise<WriteResult> {
      const result = await createLink(deps, owner, id, body);
      // A new link has no used clicks.
      return { ...result, link: await withTakedown(result.link) };
    },
    update: async (
      owner: AccountScope,
      id: Uuid | undefined,
      body: UpdateLinkBody,
      requireVersion?: RequireVersion,
    ): Promise<WriteResult> =>
      await written(await updateLink(deps, owner, id, body, requireVersion)),
    upsert: async (
      owner: AccountScope,
      upsert: Parameters<typeof upsertLink>[2],
    ): Promise<WriteResult & { created: boolean }> =>
      await written(await upsertLink(deps, owner, upsert)),
    remove: (
      owner: AccountScope,
      id: Uuid | undefined,
      requireVersion?: RequireVersion,
    ): Promise<{ propagated: boolean }> => deleteLink(deps, owner, id, requireVersion),
  };
}

const createBulkWrites = (deps: ServiceDeps, { withTakedown, complete }: Completion) => ({
  /** Creates many links: see `bulk/create.ts`. */
  async createMany(owner: AccountScope, firstId: Uuid, rows: readonly unknown[]) {
    // A new link has no used clicks.
    return await eachLink(await createLinks(deps, owner, firstId, rows), withTakedown);
  },
  /** Says which of many links could be created: see `bulk/check.ts`. */
  checkMany: (owner: AccountScope, rows: readonly unknown[]) => checkLinks(deps, owner, rows),
  /** Changes many links: see `bulk/update.ts`. */
  async updateMany(owner: AccountScope, rows: readonly unknown[]) {
    return await eachLink(await updateLinks(deps, owner, rows), complete);
  },
  /** Deletes many links: see `bulk/update.ts`. */
  removeMany: (owner: AccountScope, ids: readonly string[]) => deleteLinks(deps, owner, ids),
});

/** Applies a function to the links of a result. */
const eachLink = async (
  { results, propagated }: BulkResult,
  complete: (row: LinkRow) => Promise<LinkRow>,
): Promise<BulkResult> => ({
  results: await Promise.all(
    results.map(async (result) =>
      "link" in result ? { link: await complete(result.link) } : result,
    ),
  ),
  propagated,
});

/** The position of a link in a list. */
const positionOf = ({ id, clicks, created_at }: LinkRow, { sort }: LinkOrder): Position => ({
  id,
  key: sort === "clicks" ? clicks : created_at.getTime(),
});
