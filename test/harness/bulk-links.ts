/**
 * Links by the thousand beside the faults of a run: made and changed by bulk requests, and followed
 * on every redirector. A handful of links hides what a links feed with many changes does.
 */
import type { NatsConnection } from "nats";
import * as z from "zod";

import { BULK_LINKS_MAX } from "../../shared/contracts/link-schemas.ts";
import { type ApiResponse, call, linkSchema } from "./api.ts";
import { eventually } from "./eventually.ts";
import { inParallel } from "./in-parallel.ts";
import { findLogConsumers } from "./log-consumers.ts";

/**
 * Links before the first fault, and by which they grow while faults run. The smaller number, of
 * short runs, is still more than a new consumer of the feed begins before the cursor.
 */
export const LINKS_BEFORE = 20_000;
export const LINKS_BEFORE_SHORT = 3_000;
export const LINKS_MORE = 2_000;

/** Links that are changed while a part is away. */
export const LINKS_CHANGED = 300;

/**
 * Every redirector has these in memory before they are changed: a link that it looks up is up to
 * date.
 */
const FOLLOWED_FIRST = 1_000;

/** Links of each age that are followed in a check. */
const SAMPLE = 40;

const REQUESTS_AT_ONCE = 4;

/** A store or the API may be away for as long as a fault takes. */
const REQUEST_TIMEOUT_MS = 60_000;

/**
 * Time until every redirector leads to the newest destination, and until a dead one's consumer is
 * gone.
 */
const CURRENT_TIMEOUT_MS = 15_000;
const CONSUMERS_TIMEOUT_MS = 40_000;

/** Quiet time between two requests for changes while a part is away. */
const CHANGES_PAUSE_MS = 300;

export type BulkLinksOptions = {
  /**
   * Addresses of API processes, which take turns, and a key of an account with {@link UNLIMITED}.
   */
  apis: () => readonly string[];
  key: string;
  /** Addresses of all redirectors; what one of them has, all must have. */
  redirectors: () => readonly string[];
  /** Connects as a user who may list consumers. */
  connectNats: () => Promise<NatsConnection>;
  /** The redirectors follow a mirror: it gets links some time after they are published. */
  isMirrored?: boolean;
  /** How many links stores they have: one each, unless redirectors of a host share one. */
  stores?: () => number;
  /** Headers of requests to redirectors. */
  headers?: Record<string, string>;
  log: (line: string) => void;
};

type BulkLink = { id: string; alias: string; url: string; isPublished: boolean };

const createdSchema = z.object({ data: z.array(z.object({ link: linkSchema })) });
const updatedSchema = z.object({ updated: z.int() });

export class BulkLinks {
  readonly #options: BulkLinksOptions;
  readonly #links: BulkLink[] = [];
  readonly #missing = new Set<string>();
  #requests = 0;
  #changes = 0;
  #prepared = 0;
  #lastChanged: BulkLink[] = [];

  constructor(options: BulkLinksOptions) {
    this.#options = options;
  }

  /** The links before the first fault; every redirector has some of them in memory. */
  async prepare(count: number): Promise<void> {
    await this.create(count);
    this.#prepared = count;
    const first = this.#links
      .slice(0, FOLLOWED_FIRST)
      .map((link): [BulkLink, string] => [link, link.url]);
    await eventually(() => this.#expectDestinations(first), CURRENT_TIMEOUT_MS);
  }

  /** Creates links. */
  async create(count: number): Promise<void> {
    const startedAt = performance.now();
    const made = await inParallel(partsOf(count), REQUESTS_AT_ONCE, (part) =>
      this.#createOnce(part),
    );
    this.#links.push(...made.flat());
    this.#options.log(`${count} links created in ${seconds(startedAt)} s`);
  }

  /** Gives links, in turn those that were followed first, another destination. */
  async change(count: number): Promise<void> {
    const changed = Array.from(
      { length: count },
      (_, i) => this.#links[(this.#changes + i) % FOLLOWED_FIRST],
    ).filter((link) => link !== undefined);
    const rows = changed.map(({ id }) => ({
      id,
      url: `https://example.com/changed/${++this.#changes}`,
    }));
    for (let i = 0; i < rows.length; i += BULK_LINKS_MAX) {
      const part = rows.slice(i, i + BULK_LINKS_MAX);
      const { body } = await this.#send("/v1/links/bulk", "PATCH", { links: part });
      if (updatedSchema.parse(body).updated !== part.length) throw new Error(JSON.stringify(body));
    }
    this.#lastChanged = changed;
  }

  /**
   * Injects a fault, and changes links until it is over, {@link LINKS_CHANGED} of them at least.
   */
  async changeDuring(fault: () => Promise<unknown>): Promise<void> {
    let isOver = false;
    const changing = (async () => {
      let changed = 0;
      while (!isOver || changed < LINKS_CHANGED) {
        await this.change(BULK_LINKS_MAX);
        changed += BULK_LINKS_MAX;
        if (!isOver) await Bun.sleep(CHANGES_PAUSE_MS);
      }
      await this.change(LINKS_CHANGED);
    })();
    await Promise.all([
      fault().finally(() => {
        isOver = true;
      }),
      changing,
    ]);
  }

  /**
   * Waits until a sample of old, new and changed links leads on every redirector where the API
   * says. Throws also when one of them was 404 in the meantime.
   */
  async expectCurrent(after: string): Promise<void> {
    const startedAt = performance.now();
    const followed = this.#links.slice(0, FOLLOWED_FIRST);
    const old = this.#links.slice(FOLLOWED_FIRST, this.#prepared);
    const groups = [followed, old, this.#links.slice(this.#prepared), this.#lastChanged];
    const expected = await this.#readDestinations(groups.flatMap((group) => pick(group, SAMPLE)));
    await eventually(() => this.#expectDestinations(expected), CURRENT_TIMEOUT_MS).catch(
      (error) => {
        throw new Error(`${seconds(startedAt)} s after ${after}`, { cause: error });
      },
    );
    if (this.#missing.size > 0)
      throw new Error(`Links that exist were 404: ${[...this.#missing].join(", ")}`);
    this.#options.log(
      `${expected.length} links are current after ${after}: ${seconds(startedAt)} s`,
    );
  }

  /**
   * Waits until the stream has one consumer for each store, which uses it: those of killed
   * redirectors go after a while.
   */
  async expectConsumers(): Promise<void> {
    const startedAt = performance.now();
    await eventually(async () => {
      const { used, unused } = await findLogConsumers(await this.#options.connectNats());
      const needed = this.#options.stores?.() ?? this.#options.redirectors().length;
      if (used.length !== needed || unused.length > 0)
        throw new Error(`${used.length} consumers of ${needed}, and ${unused.length} unused`);
    }, CONSUMERS_TIMEOUT_MS);
    this.#options.log(`one consumer for each links store after ${seconds(startedAt)} s`);
  }

  async #createOnce(count: number): Promise<BulkLink[]> {
    const rows = Array.from({ length: count }, (_, i) => ({ url: `https://example.com/new/${i}` }));
    const response = await this.#send("/v1/links/bulk", "POST", { links: rows });
    const isPublished = !response.headers.has("x-propagation");
    return createdSchema
      .parse(response.body)
      .data.map(({ link: { id, alias, original_url: url } }) => ({ id, alias, url, isPublished }));
  }

  /**
   * Follows a link on a redirector; returns what is wrong, undefined if it leads to the
   * destination.
   */
  async #findWrong(
    redirector: string,
    { alias, isPublished }: BulkLink,
    destination: string,
  ): Promise<string | undefined> {
    const response = await fetch(`${redirector}/${alias}`, {
      redirect: "manual",
      keepalive: false,
      headers: this.#options.headers ?? {},
    });
    await response.arrayBuffer();
    const found = `${response.status} ${response.headers.get("location") ?? ""}`;
    if (response.status === 404 && isPublished && !this.#options.isMirrored)
      this.#missing.add(`${redirector}/${alias}`);
    if (found === `302 ${destination}`) return undefined;
    return `${redirector}/${alias}: ${found} instead of ${destination}`;
  }

  /** Throws unless all redirectors lead to these destinations. */
  async #expectDestinations(expected: readonly [BulkLink, string][]): Promise<void> {
    for (const redirector of this.#options.redirectors()) {
      const found = await inParallel(expected, REQUESTS_AT_ONCE, ([link, destination]) =>
        this.#findWrong(redirector, link, destination),
      );
      const wrong = found.filter((what) => what !== undefined);
      if (wrong.length > 0)
        throw new Error(`${wrong.length} of ${expected.length} links are wrong: ${wrong[0]}`);
    }
  }

  /** Where links lead, as the API says. */
  #readDestinations(sample: readonly BulkLink[]): Promise<[BulkLink, string][]> {
    return inParallel(sample, REQUESTS_AT_ONCE, async (link) => {
      const { body } = await this.#send(`/v1/links/${link.id}`, "GET");
      return [link, linkSchema.parse(body).original_url];
    });
  }

  /** Sends a request until an API process has carried it out. A repetition does nothing twice. */
  #send(path: string, method: string, body?: unknown): Promise<ApiResponse> {
    const own = { "idempotency-key": crypto.randomUUID() };
    return eventually(async () => {
      const api = this.#options.apis()[this.#requests++ % this.#options.apis().length];
      const options = {
        method,
        key: this.#options.key,
        body,
        ...(method === "POST" ? { headers: own } : {}),
      };
      const response = await call(`${api}${path}`, options);
      if (response.status !== 200)
        throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(response.body)}`);
      return response;
    }, REQUEST_TIMEOUT_MS);
  }
}

const seconds = (since: number): string => ((performance.now() - since) / 1_000).toFixed(1);

/** Sizes of the requests for so many links. */
const partsOf = (count: number): number[] =>
  Array.from({ length: Math.ceil(count / BULK_LINKS_MAX) }, (_, i) =>
    Math.min(BULK_LINKS_MAX, count - i * BULK_LINKS_MAX),
  );

/** Evenly spread items of a list. */
const pick = <T>(items: readonly T[], count: number): T[] =>
  items.filter((_, i) => i % Math.max(1, Math.floor(items.length / count)) === 0).slice(0, count);
