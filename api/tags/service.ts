/** The operations on tags. A tag exists while a link has it. */
import type * as z from "zod";

import type { changeTagBody } from "../../shared/contracts/tag-schemas.ts";
import { recordEvents } from "../events/record.ts";
import { ApiError, notFound } from "../http/errors.ts";
import type { AccountScope, Writer } from "../http/principal.ts";
import { budgets, type Payer } from "../limits/budgets.ts";
import { type RetaggedLink, tagsEvent } from "../links/events.ts";
import { isStorable, type Sql, type Transaction } from "../postgres.ts";
import { listCountedTags, type TagsPart, type TagsRequest, withClicks } from "./listing.ts";
import type { CountedTag, Progress, TagRow } from "./model.ts";

/** Maximum links that one statement changes, and one request. */
const BATCH = 1_000;
const CHANGED_MAX = 10_000;

type ChangeTagBody = z.output<typeof changeTagBody>;

type Replacement = {
  /** Throws when the tags that exist do not permit it. */
  check: (found: ReadonlyMap<string, TagRow>) => void;
  /** The colour that the new tag gets; undefined: its own, or that of a replaced tag. */
  color?: TagRow["color"] | undefined;
};

export class TagService {
  readonly #sql: Sql;
  readonly #shortUrl: string;

  /** `shortUrl` is the origin of short links. */
  constructor(sql: Sql, shortUrl: string) {
    this.#sql = sql;
    this.#shortUrl = shortUrl;
  }

  /**
   * Lists the requested part of the owner's tags. Throws `invalid_request` when there are too many
   * to sort by clicks, and `rate_limited`.
   */
  async list(owner: AccountScope & Payer, request: TagsRequest): Promise<TagsPart> {
    return isStorable(request.search)
      ? await listCountedTags(this.#sql, owner, request)
      : { rows: [], next: null };
  }

  /**
   * Renames a tag on all links that have it, and sets its colour. `done` is false as of
   * {@link #replace}; a repeated request must then merge. Throws `not_found`, and `tag_taken` when
   * the new name is another tag's and they may not become one.
   */
  async change(
    owner: Writer,
    name: string,
    { name: to = name, color, merge = false }: ChangeTagBody,
  ): Promise<CountedTag & Progress> {
    if (!isStorable(name)) throw notFound("tag");
    if (to === name) {
      budgets.require(owner, "listed_links");
      if (color !== undefined) await this.#changeColor(owner, name, color);
      return { ...(await this.#get(owner, name)), changed: 0, done: true };
    }
    const check = (found: ReadonlyMap<string, TagRow>): void => {
      if (!found.has(name)) throw notFound("tag");
      if (!merge && found.has(to)) throw tagTaken(to);
    };
    const progress = await this.#replace(owner, [name], to, { check, color });
    return { ...(await this.#get(owner, to)), ...progress };
  }

  /** Throws `not_found`. */
  #changeColor(owner: Writer, name: string, color: TagRow["color"]): Promise<void> {
    return this.#sql.begin(async (sql) => {
      if (!(await setColor(sql, owner, name, color))) throw notFound("tag");
      const data = { tag: { name, color } };
      await recordEvents(sql, owner, [{ type: "tag.updated", objectId: null, data }]);
    });
  }

  /** Removes a tag from all links that have it; throws `not_found`. */
  async remove(owner: Writer, name: string): Promise<Progress> {
    if (!isStorable(name)) throw notFound("tag");
    const check = (found: ReadonlyMap<string, TagRow>): void => {
      if (!found.has(name)) throw notFound("tag");
    };
    return await this.#replace(owner, [name], null, { check });
  }

  /** Replaces tags by one, which may exist, on all links that have them. */
  async merge(owner: Writer, tags: readonly string[], into: string): Promise<Progress> {
    const replaced = tags.filter((tag) => tag !== into);
    if (replaced.length === 0) return { changed: 0, done: true };
    return await this.#replace(owner, replaced, into, { check: () => undefined });
  }

  /**
   * Replaces tags by `into`, or removes them when it is null, in transactions of {@link BATCH}
   * links. `done` is false when the request has changed {@link CHANGED_MAX} links, or consumed the
   * account's budget, and more may remain. Throws `rate_limited` when nothing of the budget is left
   * to begin with.
   */
  async #replace(
    owner: Writer,
    tags: readonly string[],
    into: string | null,
    { check, color }: Replacement,
  ): Promise<Progress> {
    budgets.require(owner, "changed_links");
    budgets.require(owner, "ledger_bytes");
    const names = into === null ? tags : [into, ...tags];
    const replaceSome = (transaction: Transaction) =>
      replaceAndRecord(transaction, owner, { tags, into, shortUrl: this.#shortUrl });
    let batch = await this.#sql.begin(async (transaction) => {
      // One transaction at a time decides whether the owner's tags may be renamed.
      const { accountId, mode } = owner;
      await transaction`select pg_advisory_xact_lock(hashtextextended(${`tags/${accountId}/${mode}`}, 2))`;
      const found = await findTags(transaction, owner, names);
      check(found);
      const count = await replaceSome(transaction);
      const inherited = names.map((name) => found.get(name)?.color ?? null).find(Boolean) ?? null;
      const kept = color === undefined ? inherited : color;
      if (into !== null) await setColor(transaction, owner, into, kept);
      return count;
    });
    budgets.spend(owner, "changed_links", batch);
    let changed = batch;
    while (batch === BATCH && changed < CHANGED_MAX && mayGoOn(owner)) {
      batch = await this.#sql.begin(replaceSome);
      budgets.spend(owner, "changed_links", batch);
      changed += batch;
    }
    // After a full batch there may be more, or just none.
    const done = batch < BATCH || (await findTags(this.#sql, owner, tags)).size === 0;
    return { changed, done };
  }

  /** Finds one of the owner's tags; throws `not_found`. */
  async #get(owner: Writer, name: string): Promise<CountedTag> {
    const found = await findTags(this.#sql, owner, [name]);
    const [counted] = await withClicks(this.#sql, owner, [...found.values()]);
    if (counted === undefined) throw notFound("tag");
    return counted;
  }
}

const mayGoOn = (owner: Writer): boolean =>
  budgets.waitMs(owner, "changed_links") === 0 && budgets.waitMs(owner, "ledger_bytes") === 0;

/** Replaces tags on {@link BATCH} links at most, and records it; returns the number of links. */
async function replaceAndRecord(
  transaction: Transaction,
  owner: Writer,
  { tags, into, shortUrl }: { tags: readonly string[]; into: string | null; shortUrl: string },
): Promise<number> {
  const changed = await replaceTags(transaction, owner, tags, into, BATCH);
  const events = changed.map((link) => tagsEvent(link, shortUrl));
  await recordEvents(transaction, owner, events);
  return changed.length;
}

const tagTaken = (name: string): ApiError =>
  new ApiError(
    "tag_taken",
    `The tag "${name}" exists already. Send "merge": true to merge the two.`,
    {
      param: "name",
    },
  );

/** Finds the owner's tags of these names, by the primary key. */
async function findTags(
  sql: Sql | Transaction,
  { accountId, mode }: AccountScope,
  names: readonly string[],
): Promise<Map<string, TagRow>> {
  const rows = await sql<TagRow[]>`
    select name, color, links::float8 as links from tags
     where account_id = ${accountId} and mode = ${mode} and name = any (${[...names]}::text[])`;
  return new Map(rows.map((row) => [row.name, row]));
}

/** Sets the colour of one of the owner's tags. Returns false when there is no such tag. */
async function setColor(
  sql: Transaction,
  { accountId, mode }: AccountScope,
  name: string,
  color: TagRow["color"],
): Promise<boolean> {
  const { count } = await sql`
    update tags set color = ${color}
     where account_id = ${accountId} and mode = ${mode} and name = ${name}`;
  return count === 1;
}

/**
 * Replaces tags by another one, or by none, on at most `limit` of the owner's links; returns the
 * changed links with their tags before. A link that has several of the tags gets the new one once,
 * in the position of the first. Redirectors do not store tags, so nothing is published.
 */
async function replaceTags(
  sql: Transaction,
  { accountId, mode }: AccountScope,
  tags: readonly string[],
  into: string | null,
  limit: number,
): Promise<RetaggedLink[]> {
  return await sql<RetaggedLink[]>`
    with chosen as materialized (
      select id, tags from links
       where account_id = ${accountId} and mode = ${mode} and tags && ${[...tags]}::text[]
       order by id limit ${limit} for update
    )
    update links link
       set tags = coalesce((
             select array_agg(tag order by place)
               from (select case when tag = any (${[...tags]}::text[]) then ${into} else tag end as tag, min(place) as place
                       from unnest(link.tags) with ordinality as old (tag, place)
                      group by 1) merged
              where tag is not null), '{}'),
           version = next_link_version(), updated_at = greatest(clock_timestamp(), updated_at)
      from chosen
     where link.id = chosen.id
    returning link.id, link.alias, link.title, link.tags, chosen.tags as before,
              (select host from domains where domains.id = link.domain_id) as domain_host`;
}
