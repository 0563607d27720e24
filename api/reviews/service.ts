/**
 * The queue of links that an operator should look at: visitors reported them, or their destination
 * came to be on a list.
 */
import { DEFAULT_DOMAIN } from "../../shared/contracts/link-record.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import type { Log } from "../../shared/log.ts";
import { repeat, type Repetition } from "../../shared/repeat.ts";
import { recordCommand } from "../events/record.ts";
import { SYSTEM } from "../http/principal.ts";
import { type HostLists, nameOf, REFRESH_MS } from "../links/host-lists.ts";
import { type LinkSettings, urlsOf } from "../links/settings.ts";
import { readShortUrl, withoutPort } from "../links/short-url.ts";
import { findLinkByName, takeLinkDown } from "../links/takedown.ts";
import type { Sql, Transaction } from "../postgres.ts";

/** Links that are compared at once, and the pauses after that, and until lists may have changed. */
const COMPARED_AT_ONCE = 1_000;
const PAUSE_MS = 1_000;
const IDLE_MS = 30_000;

/** Decides about a link in the queue; false if it is not there. */
export async function decideReview(sql: Sql, linkId: Uuid, verdict: Verdict): Promise<boolean> {
  const link = await findReviewed(sql, linkId);
  if (link === undefined) return false;
  const { host, alias } = link;
  // It is recorded, as that of a link by name.
  if (verdict === "taken_down")
    await takeLinkDown(sql, { domain: host ?? DEFAULT_DOMAIN, alias }, true);
  await sql.begin(async (transaction) => {
    await setVerdict(transaction, linkId, verdict);
    if (verdict === "kept")
      await recordCommand(transaction, "reviews keep", { link: encodeId("link", linkId) });
  });
  return true;
}

/**
 * Reads the lists again and again, and compares existing links with them once they have changed.
 * One process compares at a time, some links a second.
 */
export class HostListWatch {
  readonly #sql: Sql;
  readonly #lists: HostLists;
  readonly #action: "review" | "take_down";
  readonly #log: Log;
  readonly #rounds: readonly Repetition[];

  constructor(sql: Sql, lists: HostLists, action: "review" | "take_down", log: Log) {
    this.#sql = sql;
    this.#lists = lists;
    this.#action = action;
    this.#log = log;
    this.#rounds = [
      repeat(() => lists.refresh().then(() => REFRESH_MS), 0),
      repeat(() => this.#compareSome(), PAUSE_MS),
    ];
  }

  stop(): void {
    for (const round of this.#rounds) void round.stop();
  }

  /** Returns the milliseconds until there is more to compare. */
  async #compareSome(): Promise<number> {
    try {
      return (await this.compare()) ? PAUSE_MS : IDLE_MS;
    } catch (error) {
      this.#log.warn({ error }, "links_not_compared");
      return IDLE_MS;
    }
  }

  /** Compares some links; returns whether there are more. */
  async compare(): Promise<boolean> {
    const { version, changedAt } = this.#lists;
    const found = await this.#sql.begin(async (sql) => {
      const sweep = await lockSweep(sql);
      if (sweep === undefined || version === "") return undefined;
      // Of processes that have read different contents, the one with the latest decides.
      const isNewer = sweep.lists !== version && changedAt > sweep.changed_at.getTime();
      if (sweep.done && !isNewer) return undefined;
      const links = await listCompared(sql, isNewer ? null : sweep.link_id, COMPARED_AT_ONCE);
      const listed = links.flatMap((link) => {
        const list = this.#findList(link);
        return list === undefined ? [] : [{ link, list }];
      });
      for (const { link, list } of listed) await addReview(sql, link.id, nameOf(list));
      const next = { link_id: links.at(-1)?.id ?? null, done: links.length < COMPARED_AT_ONCE };
      const lists = isNewer ? { lists: version, changed_at: new Date(changedAt) } : {};
      await saveSweep(sql, { ...sweep, ...lists, ...next });
      if (isNewer) await this.#compareDomains(sql);
      return { listed, done: next.done };
    });
    if (this.#action === "take_down")
      for (const { link } of found?.listed ?? []) await this.#takeDown(link);
    return found?.done === false;
  }

  /** Names domains that lead there visitors who find no link: those are no links to review. */
  async #compareDomains(sql: Transaction): Promise<void> {
    for await (const domains of selectDomainUrls(sql).cursor(COMPARED_AT_ONCE))
      for (const { id, urls } of domains) {
        const list = this.#findListOf(urls);
        if (list === undefined) continue;
        this.#log.warn({ domain: encodeId("dom", id), list: nameOf(list) }, "domain_on_host_list");
      }
  }

  /** The list that has the host of one of a link's URLs. */
  #findList({ target_url, extras }: Compared): string | undefined {
    return this.#findListOf([target_url, ...urlsOf(extras ?? {}).map(([, url]) => url)]);
  }

  /** Those of settings are as they were given. */
  #findListOf(urls: readonly string[]): string | undefined {
    for (const url of urls) {
      const list = this.#lists.find(URL.parse(url)?.hostname ?? "");
      if (list !== undefined) return list;
    }
    return undefined;
  }

  async #takeDown({ id, host, alias }: Compared): Promise<void> {
    await takeLinkDown(this.#sql, { domain: host ?? DEFAULT_DOMAIN, alias }, true, SYSTEM);
    await this.#sql.begin((sql) => setVerdict(sql, id, "taken_down"));
  }
}

export type Verdict = "kept" | "taken_down";

/** Adds a link to the queue; one about which somebody has decided as it is stays out of it. */
export async function addReview(sql: Sql | Transaction, linkId: Uuid, list: string): Promise<void> {
  await forgetOutdated(sql, linkId);
  await sql`
    insert into link_reviews (link_id, list) values (${linkId}, ${list})
    on conflict (link_id) do update set list = excluded.list`;
}

/** Reports of a link that are kept: one more says nothing new. */
const REPORTS_MAX = 20;

/** As {@link addReview}, with the reason of a visitor; false when the link is gone. */
async function addReport(sql: Sql, linkId: Uuid, reason: string): Promise<boolean> {
  await forgetOutdated(sql, linkId);
  const { count } = await sql`
    insert into link_reviews as review (link_id, reports)
    select id, array[${reason}::text] from links where id = ${linkId}
    on conflict (link_id) do update set reports = (review.reports || excluded.reports)[:${REPORTS_MAX}]`;
  return count > 0;
}

/** Forgets a decision about a link that has been changed since, and may lead elsewhere. */
async function forgetOutdated(sql: Sql | Transaction, linkId: Uuid): Promise<void> {
  await sql`
    delete from link_reviews review using links link
     where review.link_id = ${linkId} and link.id = review.link_id
       and review.decided_version <> link.version and link.taken_down is not true`;
}

/** A link in the queue. */
type Review = {
  link_id: Uuid;
  account_id: Uuid;
  host: string | null;
  alias: string;
  target_url: string;
  list: string | null;
  reports: string[];
  created_at: Date;
  verdict: Verdict | null;
};

/** Lists the queue, the newest first; those that are decided as well, if `all`. */
export const findReviews = (sql: Sql, all: boolean, limit: number): Promise<Review[]> =>
  sql<Review[]>`
    select link_id, link.account_id, domain.host, link.alias, link.target_url, review.list,
           review.reports, review.created_at, review.verdict
      from link_reviews review
      join links link on link.id = review.link_id
      left join domains domain on domain.id = link.domain_id
     where ${all} or review.verdict is null
     order by review.created_at desc, review.link_id limit ${limit}`;

/** The name of a link in the queue; undefined if it is not there. */
async function findReviewed(
  sql: Sql,
  linkId: Uuid,
): Promise<{ host: string | null; alias: string } | undefined> {
  const [row] = await sql<{ host: string | null; alias: string }[]>`
    select domain.host, link.alias
      from links link left join domains domain on domain.id = link.domain_id
     where link.id = ${linkId} and exists (select from link_reviews where link_id = link.id)`;
  return row;
}

/** Decides about a link in the queue, as it is now. */
async function setVerdict(sql: Transaction, linkId: Uuid, verdict: Verdict): Promise<void> {
  await sql`
    update link_reviews set verdict = ${verdict}, decided_version = link.version
      from links link where link_id = ${linkId} and link.id = link_id`;
}

/** How far the links were compared with lists. */
type Sweep = { lists: string; changed_at: Date; link_id: Uuid | null; done: boolean };

/** Reads that for one process at a time; undefined while another one compares. */
async function lockSweep(sql: Transaction): Promise<Sweep | undefined> {
  const [row] = await sql<Sweep[]>`
    select lists, changed_at, link_id, done from host_list_sweep for update skip locked`;
  return row;
}

async function saveSweep(sql: Transaction, sweep: Sweep): Promise<void> {
  await sql`update host_list_sweep set ${sql(sweep)}`;
}

/** A link to compare: its name, its destination, and all else that has URLs. */
type Compared = {
  id: Uuid;
  host: string | null;
  alias: string;
  target_url: string;
  extras: LinkSettings | null;
};

/** Links after one, in the order of their ids. */
const listCompared = (sql: Transaction, after: Uuid | null, limit: number): Promise<Compared[]> =>
  sql<Compared[]>`
    select link.id, domain.host, link.alias, link.target_url, link.extras
      from links link left join domains domain on domain.id = link.domain_id
     where ${after}::uuid is null or link.id > ${after}
     order by link.id limit ${limit}`;

/** The URLs of domains for visitors who find no link, or one that has ended. */
const selectDomainUrls = (sql: Transaction) =>
  sql<{ id: Uuid; urls: string[] }[]>`
    select id, array_remove(array[settings ->> 'root_url', settings ->> 'not_found_url',
             settings ->> 'expired_url'], null) as urls
      from domains where settings is not null`;

// Reports of links by their visitors, which put them into the queue of an operator.

/** Maximum characters of what a visitor writes. */
export const REASON_LENGTH_MAX = 500;

export class LinkReports {
  readonly #sql: Sql;
  readonly #shortUrl: URL;
  readonly #ownHosts: ReadonlySet<string>;

  /** `ownHosts` are those of the default short domain. */
  constructor(sql: Sql, shortUrl: URL, ownHosts: ReadonlySet<string>) {
    this.#sql = sql;
    this.#shortUrl = shortUrl;
    this.#ownHosts = ownHosts;
  }

  /** Reports the link of a short URL, for a reason; false when there is none. */
  async report(url: string, reason: string): Promise<boolean> {
    const { domain, aliases } = readShortUrl(url) ?? { domain: "", aliases: [] };
    const host = withoutPort(domain, this.#shortUrl);
    const own = this.#ownHosts.has(host) ? DEFAULT_DOMAIN : host;
    for (const alias of aliases) {
      const id = await findLinkByName(this.#sql, { domain: own, alias });
      if (id !== undefined) return await addReport(this.#sql, id, reason);
    }
    return false;
  }
}
