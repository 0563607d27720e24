/** What can be done with links. Knows nothing of HTTP but the errors a client is told of. */
import {
  type ActiveLink,
  DEFAULT_DOMAIN,
  type LinkRecord,
} from "../../shared/contracts/link-record.ts";
import { newUuid, type Uuid } from "../../shared/ids.ts";
import type { LinkFeed } from "../feed/link-feed.ts";
import { ApiError, notFound } from "../http/errors.ts";
import { futureInstant } from "../http/fields.ts";
import { isUniqueViolation, type Sql, type Transaction } from "../postgres.ts";
import { aliasProblem, generateAlias, GENERATED_LENGTH } from "./alias.ts";
import { destinationOf } from "./destination.ts";
import type { CreateLinkBody, LinkRow, ListLinksQuery, UpdateLinkBody } from "./model.ts";
import {
  countLinks,
  deleteLink,
  findLink,
  insertLink,
  insertOutbox,
  listLinks,
  lockAliases,
  lockLink,
  type NewLink,
  type Owner,
  updateLink,
} from "./sql.ts";
import { parseTarget, type TargetRules } from "./target-url.ts";

type LinkServiceDeps = { sql: Sql; feed: LinkFeed; targetRules: TargetRules };

/** Collisions of generated aliases after which they get longer. */
const COLLISIONS_BEFORE_LONGER = 3;
const COLLISIONS_MAX = 12;

/** OWASP's parameters for argon2id (Password Storage Cheat Sheet: 19 MiB, 2 passes). */
const PASSWORD_HASHING = { algorithm: "argon2id", memoryCost: 19_456, timeCost: 2 } as const;

export type LinkService = ReturnType<typeof createLinkService>;

export function createLinkService({ sql, feed, targetRules }: LinkServiceDeps) {
  /**
   * Creates a link and tells the redirectors. `propagated` is false when the links feed could not be
   * reached: the link is safe and will be told later. Throws `invalid_url`, `invalid_alias`,
   * `alias_taken` or `invalid_request`.
   */
  async function create(
    owner: Owner,
    body: CreateLinkBody,
  ): Promise<{ link: LinkRow; propagated: boolean }> {
    const target = parseTarget(body.url, targetRules);
    if ("problem" in target) throw new ApiError("invalid_url", target.problem);
    const chosen = body.alias ?? undefined;
    const problem = chosen === undefined ? undefined : aliasProblem(chosen);
    if (problem !== undefined) throw new ApiError("invalid_alias", problem);
    const created_at = new Date();
    const draft = {
      id: newUuid(),
      account_id: owner.accountId,
      mode: owner.mode,
      original_url: target.original,
      target_url: target.href,
      title: body.title ?? null,
      password_hash: await hashPassword(body.password ?? undefined),
      expires_at: futureInstant("expires_at", body.expires_at, created_at),
      utm_source: body.utm_source ?? null,
      utm_medium: body.utm_medium ?? null,
      utm_campaign: body.utm_campaign ?? null,
      utm_term: body.utm_term ?? null,
      utm_content: body.utm_content ?? null,
      forward_query: body.forward_query ?? false,
      created_at,
    };
    const link =
      chosen === undefined
        ? await insertGenerated(draft)
        : await insertChosen({ ...draft, alias: chosen });
    const propagated = await feed.publish(link.record, link.outboxId);
    return { link: link.row, propagated };
  }

  async function insertChosen(link: NewLink) {
    try {
      return await insert(link);
    } catch (error) {
      if (!isUniqueViolation(error, "links_alias_key")) throw error;
      throw new ApiError("alias_taken", `The alias "${link.alias}" is already in use.`);
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

  /** Finds one of the owner's links; throws `not_found`. */
  async function get(owner: Owner, id: Uuid | undefined): Promise<LinkRow> {
    const row = id === undefined ? undefined : await findLink(sql, owner, id);
    if (row === undefined) throw notFound("link");
    return row;
  }

  /** A page of the owner's links, and how many there are. */
  async function list(owner: Owner, query: ListLinksQuery) {
    const { page, limit, sort, order } = query;
    const filter = { ...owner, search: query.search ?? null };
    const [rows, total] = await Promise.all([
      listLinks(sql, filter, { sort, order }, limit, (page - 1) * limit),
      countLinks(sql, filter),
    ]);
    return { rows, total };
  }

  /**
   * Changes a link and tells the redirectors; what stays the same moves nothing. Throws as
   * {@link create}, and `not_found`.
   */
  async function update(
    owner: Owner,
    id: Uuid | undefined,
    body: UpdateLinkBody,
  ): Promise<{ link: LinkRow; propagated: boolean }> {
    const changes = await changesOf(body);
    const { link, told } = await inTransaction(owner, id, async (transaction, old) => {
      const changed = { ...old, ...changes };
      if (Bun.deepEquals(changed, old)) return { link: old, told: [] };
      const before = { domain: domainOf(old), alias: old.alias };
      const after = { domain: domainOf(old), alias: changed.alias };
      const renamed = before.alias !== after.alias;
      await lockAliases(transaction, renamed ? [before, after] : [before]);
      const row = { ...changed, updated_at: new Date() };
      row.version = await updateLink(transaction, row);
      const records: LinkRecord[] = [{ ...toRecord(row), version: row.version }];
      // The old name is gone from the same moment on.
      if (renamed) records.push({ state: "deleted", version: row.version, ...before });
      return { link: row, told: await noteAll(transaction, records) };
    });
    return { link, propagated: await publishAll(told) };
  }

  /** Deletes a link for good, frees its alias and tells the redirectors; throws `not_found`. */
  async function remove(owner: Owner, id: Uuid | undefined): Promise<{ propagated: boolean }> {
    const told = await inTransaction(owner, id, async (transaction, old) => {
      const short = { domain: domainOf(old), alias: old.alias };
      await lockAliases(transaction, [short]);
      const version = await deleteLink(transaction, old.id);
      return await noteAll(transaction, [{ state: "deleted", version, ...short }]);
    });
    return { propagated: await publishAll(told) };
  }

  async function inTransaction<T>(
    owner: Owner,
    id: Uuid | undefined,
    work: (transaction: Transaction, link: LinkRow) => Promise<T>,
  ): Promise<T> {
    const done = await sql
      .begin(async (transaction) => {
        const link = id === undefined ? undefined : await lockLink(transaction, owner, id);
        if (link === undefined) throw notFound("link");
        return { value: await work(transaction, link) };
      })
      .catch((error: unknown) => {
        if (!isUniqueViolation(error, "links_alias_key")) throw error;
        throw new ApiError("alias_taken", "The alias is already in use.");
      });
    return done.value;
  }

  /** The columns that a change sets. */
  async function changesOf(body: UpdateLinkBody): Promise<Partial<LinkRow>> {
    const { url, alias, password, expires_at, ...rest } = body;
    const changes: Partial<LinkRow> = Object.fromEntries(
      Object.entries(rest).filter(([, value]) => value !== undefined),
    );
    if (url !== undefined) {
      const target = parseTarget(url, targetRules);
      if ("problem" in target) throw new ApiError("invalid_url", target.problem);
      changes.original_url = target.original;
      changes.target_url = target.href;
    }
    const problem = alias === undefined ? undefined : aliasProblem(alias);
    if (problem !== undefined) throw new ApiError("invalid_alias", problem);
    if (alias !== undefined) changes.alias = alias;
    if (password !== undefined) changes.password_hash = await hashPassword(password ?? undefined);
    if (expires_at !== undefined)
      changes.expires_at = futureInstant("expires_at", expires_at, new Date());
    return changes;
  }

  async function publishAll(told: readonly Told[]): Promise<boolean> {
    const published = await Promise.all(
      told.map(({ record, outboxId }) => feed.publish(record, outboxId)),
    );
    return published.every(Boolean);
  }

  return { create, get, list, update, remove };
}

/** A change that is in the outbox and on its way. */
type Told = { record: LinkRecord; outboxId: number };

async function noteAll(transaction: Transaction, records: readonly LinkRecord[]): Promise<Told[]> {
  const told: Told[] = [];
  for (const record of records)
    told.push({ record, outboxId: await insertOutbox(transaction, record) });
  return told;
}

const domainOf = (link: LinkRow): string => link.domain_host ?? DEFAULT_DOMAIN;

const toRecord = (
  link: NewLink & Partial<Pick<LinkRow, "domain_host">>,
): Omit<ActiveLink, "version"> => ({
  state: "active",
  domain: link.domain_host ?? DEFAULT_DOMAIN,
  alias: link.alias,
  link_id: link.id,
  account_id: link.account_id,
  mode: link.mode,
  destination: destinationOf(link.target_url, link),
  expires_at: link.expires_at?.getTime() ?? null,
  password_hash: link.password_hash,
  forward_query: link.forward_query,
});

const hashPassword = async (password: string | undefined): Promise<string | null> =>
  password === undefined ? null : await Bun.password.hash(password, PASSWORD_HASHING);
