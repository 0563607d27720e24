/** The operations on links. Independent of HTTP except for the errors that clients receive. */
import { newUuid, type Uuid } from "../../shared/ids.ts";
import type { DomainService } from "../domains/service.ts";
import { ApiError, invalidField, notFound, unavailable } from "../http/errors.ts";
import type { RequireVersion } from "../http/etag.ts";
import type { ListPart, ListPosition, ListRequest } from "../http/pagination.ts";
import type { AccountScope, Writer } from "../http/principal.ts";
import { budgets, type Payer } from "../limits/budgets.ts";
import type { LinksPublisher } from "../links-log/publisher.ts";
import { requireFound } from "../owned-rows.ts";
import type { PasswordHashing } from "../passwords/hashing.ts";
import { isStorable, type Sql } from "../postgres.ts";
import { TakedownReader } from "../takedowns/service.ts";
import { readCreations, readDeletions, readUpdates } from "./bulk.ts";
import { LinkChanges } from "./change-links.ts";
import { LinkCreations } from "./create-links.ts";
import type { DestinationRules } from "./destinations.ts";
import { type ExplainBody, explainRequest, type Explanation } from "./explain.ts";
import { type LinkOrder, toFilter } from "./listing/filter.ts";
import { findLinks } from "./listing/list-links.ts";
import type {
  CreateLinkBody,
  LinkRow,
  ListLinksQuery,
  UpdateLinkBody,
  UpsertLinkBody,
} from "./model.ts";
import { LinkPreparation, replaceBy } from "./prepare-link.ts";
import { toRecord } from "./record.ts";
import {
  chargeAliases,
  chargeRows,
  type Creation,
  type Failure,
  type LinkResults,
  onlyResult,
  type Update,
  type WriteResult,
} from "./results.ts";
import { buildShortUrl, readShortUrl, withoutPort } from "./short-url.ts";
import { findLink, findLinksInOrder, selectLinks } from "./sql.ts";
import type { UsedClicks } from "./used-clicks.ts";

/** Maximum attempts while other requests create and delete a link concurrently. */
const UPSERTS_MAX = 5;

/**
 * Maximum links that tags and domains can select for analytics: their ids are sent to ClickHouse.
 */
const SELECTED_LINKS_MAX = 100_000;

/** Maximum domains that an error names. */
const NAMED_DOMAINS_MAX = 10;

/** A link by its alias; on the service's own domain if there is none. */
type LinkName = { aliases: readonly string[]; domain?: string | undefined };

/** A request to create or replace the link with an external id. */
type Upsert = {
  externalId: string;
  body: UpsertLinkBody;
  requireVersion: RequireVersion;
  /** Whether only an existing link may be changed. */
  mustExist: boolean;
};

export class LinkService {
  readonly #sql: Sql;
  readonly #domains: DomainService;
  readonly #rules: DestinationRules;
  readonly #usedClicks: UsedClicks;
  readonly #takedowns: TakedownReader;
  readonly #creations: LinkCreations;
  readonly #changes: LinkChanges;

  constructor(
    sql: Sql,
    publisher: LinksPublisher,
    domains: DomainService,
    rules: DestinationRules,
    passwords: PasswordHashing,
    usedClicks: UsedClicks,
  ) {
    this.#sql = sql;
    this.#domains = domains;
    this.#rules = rules;
    this.#usedClicks = usedClicks;
    this.#takedowns = new TakedownReader(sql);
    const preparation = new LinkPreparation(domains, rules, passwords);
    const { origin } = rules.shortUrl;
    this.#creations = new LinkCreations(sql, publisher, preparation, origin);
    this.#changes = new LinkChanges(sql, publisher, preparation, origin);
  }

  /**
   * Finds one of the owner's links by itself, without what `get` adds from other stores; throws
   * `not_found`.
   */
  async find(owner: AccountScope, id: Uuid | undefined): Promise<LinkRow> {
    const row = id === undefined ? undefined : await findLink(this.#sql, owner, id);
    return await requireFound(row, this.#sql, owner, { table: "links", id });
  }

  /** Finds one of the owner's links; throws `not_found`. */
  async get(owner: AccountScope, id: Uuid | undefined): Promise<LinkRow> {
    return await this.#complete(await this.find(owner, id));
  }

  /** As `find`, by the owner's own id. */
  async findExternal(owner: AccountScope, externalId: string): Promise<LinkRow> {
    const row = await this.#readExternal(owner, externalId);
    if (row === undefined) throw notFound("link");
    return row;
  }

  async #readExternal(
    { accountId, mode }: AccountScope,
    externalId: string,
  ): Promise<LinkRow | undefined> {
    const sql = this.#sql;
    const [row] = await sql<LinkRow[]>`
      ${selectLinks(sql)}
       where link.account_id = ${accountId} and link.mode = ${mode} and link.external_id = ${externalId}`;
    return row;
  }

  /** As `get`, by the owner's own id. */
  async getExternal(owner: AccountScope, externalId: string): Promise<LinkRow> {
    return await this.#complete(await this.findExternal(owner, externalId));
  }

  /** As `get`, by the short URL. */
  async lookUp(owner: AccountScope, name: LinkName): Promise<LinkRow> {
    return await this.#complete(await this.findByName(owner, name));
  }

  /** As `find`, by the short URL. */
  async findByName(owner: AccountScope, { aliases, domain }: LinkName): Promise<LinkRow> {
    return await this.find(owner, (await this.#findFirst(owner, aliases, domain))?.id);
  }

  /** The first of some aliases on a domain that a link of the owner has, and the link. */
  async #findFirst(owner: AccountScope, aliases: readonly string[], domain: string | undefined) {
    const host = domain ?? this.#rules.shortUrl.hostname;
    for (const alias of aliases) {
      const filter = toFilter(owner, { alias, domain: host, archived: "any" }, this.#rules);
      const order = { sort: "created_at", order: "desc" } as const;
      const part = { limit: 1, after: null };
      const [id] =
        filter === undefined ? [] : (await findLinks(this.#sql, filter, order, part)).ids;
      if (id !== undefined) return { alias, id };
    }
    return undefined;
  }

  /**
   * Returns the requested part of the owner's matching links; by page with the number of all
   * matches. Throws `rate_limited` for a page when the owner's budget is used up.
   */
  async list(
    owner: AccountScope & Payer,
    given: ListLinksQuery,
    request: ListRequest,
  ): Promise<ListPart<LinkRow>> {
    const query = await this.#readSearch(owner, given);
    const filter = toFilter(owner, query, this.#rules);
    // No field of a link contains a control character, and PostgreSQL rejects NUL.
    if (filter === undefined) return { rows: [], total: 0, next: null };
    // By cursor a part reads few links, however many there are.
    if ("page" in request) budgets.require(owner, "listed_links");
    const { ids, read = 0, ...part } = await findLinks(this.#sql, filter, query, request);
    budgets.spend(owner, "listed_links", read);
    const found = ids.length === 0 ? [] : await findLinksInOrder(this.#sql, ids);
    const rows = await Promise.all(found.map((row) => this.#complete(row)));
    if ("after" in request) return { ...part, rows };
    const last = rows.at(-1);
    const isMore = request.page * request.limit < (part.total ?? 0);
    const next = isMore && last !== undefined ? positionOf(last, query) : null;
    return { ...part, rows, next: part.next ?? next };
  }

  /**
   * A query that searches for a short URL on a domain of the service or the account asks for the
   * link at its alias instead, which has no such text.
   */
  async #readSearch(owner: AccountScope, query: ListLinksQuery): Promise<ListLinksQuery> {
    const { search = "", alias, domain } = query;
    const found = alias === undefined && domain === undefined ? readShortUrl(search) : undefined;
    if (found === undefined) return query;
    const host = withoutPort(found.domain, this.#rules.shortUrl);
    const isKnown =
      this.#rules.ownHosts.has(host) ||
      (await this.#domains.findHosts(owner, [host], 0)).known.includes(host);
    if (!isKnown) return query;
    const named = await this.#findFirst(owner, found.aliases, host);
    return { ...query, search: undefined, alias: named?.alias ?? found.aliases[0], domain: host };
  }

  /** Explains where a request for a link would be redirected; throws `not_found`. */
  async explain(
    owner: AccountScope,
    id: Uuid | undefined,
    body: ExplainBody,
  ): Promise<Explanation> {
    return await explainRequest(await this.get(owner, id), body, this.#rules.ownHosts);
  }

  /** Creates a link; throws what `LinkCreations` says. */
  async create(owner: Writer, id: Uuid, body: CreateLinkBody): Promise<WriteResult> {
    return onlyResult(await this.#create(owner, [{ id, body }]));
  }

  /** Changes a link; throws what `LinkChanges` says. */
  async update(
    owner: Writer,
    id: Uuid | undefined,
    body: UpdateLinkBody,
    requireVersion: RequireVersion,
  ): Promise<WriteResult> {
    return onlyResult(await this.#update(owner, [{ id, body, requireVersion }]));
  }

  /** Deletes a link; throws what `LinkChanges` says. */
  async remove(
    owner: Writer,
    id: Uuid | undefined,
    requireVersion: RequireVersion,
  ): Promise<{ propagated: boolean }> {
    return onlyResult(await this.#changes.remove(owner, [{ id, requireVersion }]));
  }

  /**
   * Replaces the owner's link with this external id by the body, or creates it; a link keeps its
   * alias where the body has none. Concurrent upserts of one id create one link. A creation takes a
   * row of the budget of those in bulk. Throws what creating and updating throw.
   */
  async upsert(
    owner: Writer,
    { externalId, body, requireVersion, mustExist }: Upsert,
  ): Promise<WriteResult & { created: boolean }> {
    for (let attempt = 0; attempt < UPSERTS_MAX; attempt++) {
      const existing = await this.#readExternal(owner, externalId);
      try {
        if (existing !== undefined) {
          const change = replaceBy(body, existing, this.#rules);
          const result = await this.update(owner, existing.id, change, requireVersion);
          return { ...result, created: false };
        }
        if (mustExist) throw new ApiError("precondition_failed", "There is no such link.");
        const creation = { id: newUuid(), body: { ...body, external_id: externalId } };
        const results = await chargeRows(owner, 1, () => this.#create(owner, [creation]));
        return { ...onlyResult(results), created: true };
      } catch (error) {
        if (!isRace(error, existing?.id)) throw error;
      }
    }
    throw unavailable("Other requests create and delete this link at the same time.");
  }

  /** Creates many links. Their ids derive from `firstId`, so that a retry finds the same links. */
  createMany(owner: Writer, firstId: Uuid, rows: readonly unknown[]): Promise<LinkResults> {
    return chargeRows(owner, rows.length, () => this.#create(owner, readCreations(firstId, rows)));
  }

  /** Says why each of many links could not be created; undefined for those that could. */
  checkMany(owner: Writer, rows: readonly unknown[]): Promise<(ApiError | undefined)[]> {
    chargeAliases(owner, rows);
    return this.#creations.check(owner, readCreations(newUuid(), rows));
  }

  updateMany(owner: Writer, rows: readonly unknown[]): Promise<LinkResults> {
    return this.#update(owner, readUpdates(rows));
  }

  removeMany(owner: Writer, ids: readonly string[]): Promise<LinkResults> {
    return this.#changes.remove(owner, readDeletions(ids));
  }

  async #create(owner: Writer, creations: readonly (Creation | Failure)[]): Promise<LinkResults> {
    const created = await this.#creations.create(owner, creations);
    // A new link has no used clicks.
    return await eachLink(created, (row) => this.#withTakedown(row));
  }

  async #update(owner: Writer, updates: readonly (Update | Failure)[]): Promise<LinkResults> {
    const updated = await this.#changes.update(owner, updates);
    return await eachLink(updated, (row) => this.#complete(row));
  }

  /** Adds values to a link that its row does not contain. */
  async #complete(row: LinkRow): Promise<LinkRow> {
    const link = await this.#withTakedown(row);
    const ledger = link.extras?.ledger;
    const used = ledger === undefined ? undefined : await this.#usedClicks.read(ledger);
    return used === undefined ? link : { ...link, used_clicks: used };
  }

  /** Sets whether a link is taken down with its account or host. */
  async #withTakedown(row: LinkRow): Promise<LinkRow> {
    const takedowns = await this.#takedowns.read();
    if (takedowns === undefined || row.taken_down || !takedowns.covers(toRecord(row))) return row;
    return { ...row, taken_down: true };
  }

  /** Creation times (Unix milliseconds) of the owner's links among these ids. */
  async getCreationTimes(
    { accountId, mode }: AccountScope,
    ids: readonly Uuid[],
  ): Promise<Map<Uuid, number>> {
    const rows = await this.#sql<{ id: Uuid; created_at: Date }[]>`
      select id, created_at from links
       where id = any (${[...ids]}::uuid[]) and account_id = ${accountId} and mode = ${mode}`;
    return new Map(rows.map((row) => [row.id, row.created_at.getTime()]));
  }

  /** Creation time (Unix milliseconds) of the owner's oldest link; undefined without links. */
  async getFirstCreationTime({ accountId, mode }: AccountScope): Promise<number | undefined> {
    const [row] = await this.#sql<{ created_at: Date }[]>`
      select created_at from links
       where account_id = ${accountId} and mode = ${mode} order by created_at limit 1`;
    return row?.created_at.getTime();
  }

  /** Whether a host, in lower case, is one of the service's own short domain. */
  isOwnHost(host: string): boolean {
    return host === this.#rules.shortUrl.host || this.#rules.ownHosts.has(host);
  }

  /**
   * Throws `invalid_request`, naming `param`, for a host, in lower case, that is neither the
   * service's own nor a domain of the account.
   */
  async requireKnownDomains(
    owner: AccountScope,
    hosts: readonly string[],
    param: string,
  ): Promise<void> {
    const customHosts = hosts.filter((host) => !this.isOwnHost(host));
    if (customHosts.length === 0) return;
    const { known, others } = await this.#domains.findHosts(owner, customHosts, NAMED_DOMAINS_MAX);
    if (customHosts.every((host) => known.includes(host))) return;
    const hostsOfOwner = [this.#rules.shortUrl.host, ...known, ...others];
    const names = hostsOfOwner.slice(0, NAMED_DOMAINS_MAX).join(", ");
    throw invalidField(param, `must be a domain of the account, such as ${names}`);
  }

  /**
   * Ids of the owner's links that have these tags and are on these hosts, in lower case. Throws
   * `invalid_request` beyond {@link SELECTED_LINKS_MAX}.
   */
  async findIds(
    { accountId, mode }: AccountScope,
    { tags, domains }: { tags?: readonly string[]; domains?: readonly string[] },
  ): Promise<Uuid[]> {
    const sql = this.#sql;
    const hosts = domains?.map((host) => (this.isOwnHost(host) ? "" : host));
    const rows = await sql<{ id: Uuid }[]>`
      select link.id
        from links link left join domains domain on domain.id = link.domain_id
       where link.account_id = ${accountId} and link.mode = ${mode}
         ${tags === undefined ? sql`` : sql`and link.tags && ${tags.filter(isStorable)}::text[]`}
         ${hosts === undefined ? sql`` : sql`and coalesce(domain.host, '') = any (${hosts}::text[])`}
       limit ${SELECTED_LINKS_MAX + 1}`;
    if (rows.length <= SELECTED_LINKS_MAX) return rows.map(({ id }) => id);
    throw new ApiError(
      "invalid_request",
      `More than ${SELECTED_LINKS_MAX} links match the filters "tag" and "domain".`,
    );
  }

  /** Tags and domains of the owner's existing links among these ids. */
  async getProperties(
    { accountId, mode }: AccountScope,
    ids: readonly Uuid[],
  ): Promise<Map<Uuid, { tags: string[]; domain: string }>> {
    const rows = await this.#sql<{ id: Uuid; tags: string[]; host: string | null }[]>`
      select link.id, link.tags, domain.host
        from links link left join domains domain on domain.id = link.domain_id
       where link.id = any (${[...ids]}::uuid[]) and link.account_id = ${accountId} and link.mode = ${mode}`;
    const own = this.#rules.shortUrl.host;
    return new Map(rows.map(({ id, tags, host }) => [id, { tags, domain: host ?? own }]));
  }

  /** Short URLs and titles of the owner's existing links among these ids. */
  async getNames(
    { accountId, mode }: AccountScope,
    ids: readonly Uuid[],
  ): Promise<Map<Uuid, { short_url: string; title: string | null }>> {
    const rows = await this.#sql<
      { id: Uuid; alias: string; title: string | null; domain_host: string | null }[]
    >`
      select link.id, link.alias, link.title, domain.host as domain_host
        from links link left join domains domain on domain.id = link.domain_id
       where link.id = any (${[...ids]}::uuid[]) and link.account_id = ${accountId} and link.mode = ${mode}`;
    const { origin } = this.#rules.shortUrl;
    return new Map(
      rows.map((row) => [row.id, { short_url: buildShortUrl(row, origin), title: row.title }]),
    );
  }
}

/** Whether another request created the link that was missing, or deleted the one that was there. */
const isRace = (error: unknown, existing: Uuid | undefined): boolean =>
  error instanceof ApiError &&
  error.reason === (existing === undefined ? "external_id_taken" : notFound("link").reason);

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

function positionOf(row: LinkRow, { sort }: LinkOrder): ListPosition {
  const { id, clicks } = row;
  return { id, key: sort === "clicks" ? clicks : (row[sort]?.getTime() ?? 0) };
}
