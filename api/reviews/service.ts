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
import { urlsOf } from "../links/settings.ts";
import { takeLinkDown } from "../links/takedown.ts";
import type { Sql } from "../postgres.ts";
import {
  addReview,
  type Compared,
  findReviewed,
  listCompared,
  listReviews,
  lockSweep,
  type Review,
  saveSweep,
  setVerdict,
  type Verdict,
} from "./sql.ts";

export type { Verdict } from "./sql.ts";

/** Links that are compared at once, and the pauses after that, and until lists may have changed. */
const COMPARED_AT_ONCE = 1_000;
const PAUSE_MS = 1_000;
const IDLE_MS = 30_000;

/** The links in the queue, the newest first; those that are decided as well, if `all`. */
export const findReviews = (sql: Sql, all: boolean, limit: number): Promise<Review[]> =>
  listReviews(sql, all, limit);

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
      return { listed, done: next.done };
    });
    if (this.#action === "take_down")
      for (const { link } of found?.listed ?? []) await this.#takeDown(link);
    return found?.done === false;
  }

  /** The list that has the host of one of a link's URLs. */
  #findList({ target_url, extras }: Compared): string | undefined {
    // Those of settings are as they were given.
    const urls = [target_url, ...urlsOf(extras ?? {}).map(([, url]) => url)];
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
