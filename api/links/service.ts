/** The operations on links. Independent of HTTP except for the errors that clients receive. */
import type { Uuid } from "../../shared/ids.ts";
import type { ReadSpentClicks } from "../feed/spent-clicks.ts";
import { ApiError, notFound } from "../http/errors.ts";
import type { RequireVersion } from "../http/etag.ts";
import type { ListPart, ListRequest, Position } from "../http/pagination.ts";
import type { AccountScope } from "../http/principal.ts";
import { createTakedownReader } from "../takedowns/service.ts";
import { createLinks } from "./bulk/create.ts";
import type { BulkResult } from "./bulk/model.ts";
import { deleteLinks, updateLinks } from "./bulk/update.ts";
import { createLink } from "./create-link.ts";
import { deleteLink } from "./delete-link.ts";
import type { LinkServiceDeps, WriteResult } from "./deps.ts";
import { explainRequest } from "./explain/explain.ts";
import type { ExplainBody, Explanation } from "./explain/model.ts";
import { requireKnownDomains } from "./known-domains.ts";
import type { LinkOrder } from "./listing/filter.ts";
import { findLinks } from "./listing/list-links.ts";
import { toFilter } from "./listing/query.ts";
import type { CreateLinkBody, LinkRow, ListLinksQuery, UpdateLinkBody } from "./model.ts";
import { toRecord } from "./record.ts";
import { buildShortUrl } from "./responses.ts";
import {
  findCreationTimes,
  findFirstCreation,
  findLink,
  findLinkIds,
  findLinkNames,
  findLinkProperties,
  findLinksInOrder,
} from "./sql.ts";
import { updateLink } from "./update-link.ts";
import { upsertLink } from "./upsert-link.ts";

/**
 * Maximum links that tags and domains can select for analytics: their ids are sent to ClickHouse.
 */
const SELECTED_LINKS_MAX = 100_000;

/** PostgreSQL rejects NUL, and no tag contains a control character. */
const isStorable = (text: string): boolean => !/\p{Cc}/u.test(text);

export type LinkService = ReturnType<typeof createLinkService>;

export function createLinkService(
  deps: LinkServiceDeps & {
    /** Reads the number of used clicks of a link's click limit. */
    readSpentClicks: ReadSpentClicks;
  },
) {
  const { sql, readSpentClicks } = deps;
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

  /** Adds values to a link that its row does not contain. */
  const complete = async (row: LinkRow): Promise<LinkRow> =>
    await withSpentClicks(await withTakedown(row));

  const written = async <Result extends WriteResult>(result: Result): Promise<Result> => ({
    ...result,
    link: await complete(result.link),
  });

  /** Finds one of the owner's links; throws `not_found`. */
  async function get(owner: AccountScope, id: Uuid | undefined): Promise<LinkRow> {
    const row = id === undefined ? undefined : await findLink(sql, owner, id);
    if (row === undefined) throw notFound("link");
    return await complete(row);
  }

  /**
   * Returns the requested part of the owner's matching links; by page with the number of all
   * matches.
   */
  async function list(
    owner: AccountScope,
    query: ListLinksQuery,
    request: ListRequest,
  ): Promise<ListPart<LinkRow>> {
    const filter = toFilter(owner, query, deps.destinationRules);
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
  }

  /** Finds one of the owner's links by its short URL; throws `not_found`. */
  async function lookUp(
    owner: AccountScope,
    alias: string,
    domain: string | undefined,
  ): Promise<LinkRow> {
    const filter = toFilter(
      owner,
      { alias, domain: domain ?? deps.destinationRules.shortUrl.hostname, archived: "any" },
      deps.destinationRules,
    );
    const order = { sort: "created_at", order: "desc" } as const;
    const found = filter && (await findLinks(sql, filter, order, { limit: 1, after: null }));
    return await get(owner, found?.ids[0]);
  }

  /** Creation times (Unix milliseconds) of the owner's links among these ids. */
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

  const { shortUrl, ownHosts } = deps.destinationRules;
  const isOwnHost = (host: string): boolean => host === shortUrl.host || ownHosts.has(host);

  /**
   * Ids of the owner's links that have these tags and are on these hosts, in lower case. Throws
   * `invalid_request` beyond {@link SELECTED_LINKS_MAX}.
   */
  async function findIds(
    owner: AccountScope,
    { tags, domains }: { tags?: readonly string[]; domains?: readonly string[] },
  ): Promise<Uuid[]> {
    const ids = await findLinkIds(
      sql,
      owner,
      {
        ...(tags === undefined ? {} : { tags: tags.filter(isStorable) }),
        ...(domains === undefined
          ? {}
          : { domains: domains.map((host) => (isOwnHost(host) ? null : host)) }),
      },
      SELECTED_LINKS_MAX,
    );
    if (ids.length <= SELECTED_LINKS_MAX) return ids;
    throw new ApiError(
      "invalid_request",
      `More than ${SELECTED_LINKS_MAX} links match the filters "tag" and "domain".`,
    );
  }

  /** Tags and domains of the owner's existing links among these ids. */
  async function getProperties(
    owner: AccountScope,
    ids: readonly Uuid[],
  ): Promise<Map<Uuid, { tags: string[]; domain: string }>> {
    const rows = await findLinkProperties(sql, owner, ids);
    return new Map(rows.map(({ id, tags, host }) => [id, { tags, domain: host ?? shortUrl.host }]));
  }

  /** Short URLs and titles of the owner's existing links among these ids. */
  async function getNames(
    owner: AccountScope,
    ids: readonly Uuid[],
  ): Promise<Map<Uuid, { short_url: string; title: string | null }>> {
    const rows = await findLinkNames(sql, owner, ids);
    return new Map(
      rows.map((row) => [
        row.id,
        { short_url: buildShortUrl(row, shortUrl.origin), title: row.title },
      ]),
    );
  }

  return {
    get,
    list,
    findIds,
    getNames,
    /**
     * Throws `invalid_request`, naming `param`, for a host, in lower case, that no link of the
     * owner can have.
     */
    requireKnownDomains: (owner: AccountScope, hosts: readonly string[], param: string) =>
      requireKnownDomains(
        { domains: deps.domains, isOwnHost, ownHost: shortUrl.host },
        owner,
        hosts,
        param,
      ),
    getProperties,
    /** Whether a host, in lower case, is one of the service's own short domain. */
    isOwnHost,
    lookUp,
    getCreationTimes,
    getFirstCreationTime,
    /** Creates many links: see `bulk/create.ts`. */
    async createMany(owner: AccountScope, firstId: Uuid, rows: readonly unknown[]) {
      // A new link has no used clicks.
      return await eachLink(await createLinks(deps, owner, firstId, rows), withTakedown);
    },
    /** Changes many links: see `bulk/update.ts`. */
    async updateMany(owner: AccountScope, rows: readonly unknown[]) {
      return await eachLink(await updateLinks(deps, owner, rows), complete);
    },
    /** Deletes many links: see `bulk/update.ts`. */
    removeMany: (owner: AccountScope, ids: readonly string[]) => deleteLinks(deps, owner, ids),
    async create(owner: AccountScope, id: Uuid, body: CreateLinkBody): Promise<WriteResult> {
      const result = await createLink(deps, owner, id, body);
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
    /** Explains where a request for a link would be redirected; throws `not_found`. */
    explain: async (
      owner: AccountScope,
      id: Uuid | undefined,
      body: ExplainBody,
    ): Promise<Explanation> =>
      explainRequest(await get(owner, id), body, deps.destinationRules.ownHosts),
  };
}

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
