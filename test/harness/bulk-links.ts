/**
 * Links by the thousand beside the faults of a run: made and changed by bulk requests, and followed
 * on every redirector. A handful of links hides what a links feed with many changes does.
 */
import type { NatsConnection } from "nats";
import * as z from "zod";

import { BULK_LINKS_MAX } from "../../shared/contracts/link-schemas.ts";
import { type ApiResponse, call, linkSchema } from "./api.ts";
import { eventually } from "./eventually.ts";
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

export type BulkLinks = ReturnType<typeof createBulkLinks>;

export function createBulkLinks({
  apis,
  key,
  redirectors,
  stores = () => redirectors().length,
  connectNats,
  isMirrored = false,
  headers = {},
  log,
}: BulkLinksOptions) {
  const links: BulkLink[] = [];
  const missing = new Set<string>();
  let requests = 0;
  let changes = 0;
  let prepared = 0;
  let lastChanged: BulkLink[] = [];

  /** Sends a request until an API process has carried it out. A repetition does nothing twice. */
  const send = (path: string, method: string, body?: unknown): Promise<ApiResponse> => {
    const own = { "idempotency-key": crypto.randomUUID() };
    return eventually(async () => {
      const api = apis()[requests++ % apis().length];
      const options = { method, key, body, ...(method === "POST" ? { headers: own } : {}) };
      const response = await call(`${api}${path}`, options);
      if (response.status !== 200)
        throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(response.body)}`);
      return response;
    }, REQUEST_TIMEOUT_MS);
  };

  async function createOnce(count: number): Promise<BulkLink[]> {
    const rows = Array.from({ length: count }, (_, i) => ({ url: `https://example.com/new/${i}` }));
    const response = await send("/v1/links/bulk", "POST", { links: rows });
    const isPublished = !response.headers.has("x-propagation");
    return createdSchema
      .parse(response.body)
      .data.map(({ link: { id, alias, original_url: url } }) => ({ id, alias, url, isPublished }));
  }

  /** Creates links. */
  async function create(count: number): Promise<void> {
    const startedAt = performance.now();
    await inParallel(partsOf(count), async (part) => void links.push(...(await createOnce(part))));
    log(`${count} links created in ${seconds(startedAt)} s`);
  }

  /** Gives links, in turn those that were followed first, another destination. */
  async function change(count: number): Promise<void> {
    const changed = Array.from({ length: count }, (_, i) => links[(changes + i) % FOLLOWED_FIRST]);
    const rows = changed
      .filter((link) => link !== undefined)
      .map(({ id }) => ({ id, url: `https://example.com/changed/${++changes}` }));
    for (let i = 0; i < rows.length; i += BULK_LINKS_MAX) {
      const part = rows.slice(i, i + BULK_LINKS_MAX);
      const { body } = await send("/v1/links/bulk", "PATCH", { links: part });
      if (updatedSchema.parse(body).updated !== part.length) throw new Error(JSON.stringify(body));
    }
    lastChanged = changed.filter((link) => link !== undefined);
  }

  /**
   * Follows a link on a redirector; returns what is wrong, undefined if it leads to the
   * destination.
   */
  async function findWrong(
    redirector: string,
    { alias, isPublished }: BulkLink,
    destination: string,
  ): Promise<string | undefined> {
    const response = await fetch(`${redirector}/${alias}`, {
      redirect: "manual",
      keepalive: false,
      headers,
    });
    await response.arrayBuffer();
    const found = `${response.status} ${response.headers.get("location") ?? ""}`;
    if (response.status === 404 && isPublished && !isMirrored)
      missing.add(`${redirector}/${alias}`);
    if (found === `302 ${destination}`) return undefined;
    return `${redirector}/${alias}: ${found} instead of ${destination}`;
  }

  /** Throws unless all redirectors lead to these destinations. */
  async function expectDestinations(expected: readonly [BulkLink, string][]): Promise<void> {
    for (const redirector of redirectors()) {
      const found = await inParallel(expected, ([link, destination]) =>
        findWrong(redirector, link, destination),
      );
      const wrong = found.filter((what) => what !== undefined);
      if (wrong.length > 0)
        throw new Error(`${wrong.length} of ${expected.length} links are wrong: ${wrong[0]}`);
    }
  }

  /** Where links lead, as the API says. */
  const readDestinations = (sample: readonly BulkLink[]): Promise<[BulkLink, string][]> =>
    inParallel(sample, async (link) => {
      const { body } = await send(`/v1/links/${link.id}`, "GET");
      return [link, linkSchema.parse(body).original_url];
    });

  /**
   * Waits until a sample of old, new and changed links leads on every redirector where the API
   * says. Throws also when one of them was 404 in the meantime.
   */
  async function expectCurrent(after: string): Promise<void> {
    const startedAt = performance.now();
    const followed = links.slice(0, FOLLOWED_FIRST);
    const old = links.slice(FOLLOWED_FIRST, prepared);
    const groups = [followed, old, links.slice(prepared), lastChanged];
    const expected = await readDestinations(groups.flatMap((group) => pick(group, SAMPLE)));
    await eventually(() => expectDestinations(expected), CURRENT_TIMEOUT_MS).catch((error) => {
      throw new Error(`${seconds(startedAt)} s after ${after}`, { cause: error });
    });
    if (missing.size > 0) throw new Error(`Links that exist were 404: ${[...missing].join(", ")}`);
    log(`${expected.length} links are current after ${after}: ${seconds(startedAt)} s`);
  }

  return {
    create,
    change,
    expectCurrent,

    /** The links before the first fault; every redirector has some of them in memory. */
    async prepare(count: number): Promise<void> {
      await create(count);
      prepared = count;
      const first = links
        .slice(0, FOLLOWED_FIRST)
        .map((link): [BulkLink, string] => [link, link.url]);
      await eventually(() => expectDestinations(first), CURRENT_TIMEOUT_MS);
    },

    /**
     * Injects a fault, and changes links until it is over, {@link LINKS_CHANGED} of them at least.
     */
    async changeDuring(fault: () => Promise<unknown>): Promise<void> {
      let isOver = false;
      const changing = (async () => {
        let changed = 0;
        while (!isOver || changed < LINKS_CHANGED) {
          await change(BULK_LINKS_MAX);
          changed += BULK_LINKS_MAX;
          if (!isOver) await Bun.sleep(CHANGES_PAUSE_MS);
        }
        await change(LINKS_CHANGED);
      })();
      await Promise.all([
        fault().finally(() => {
          isOver = true;
        }),
        changing,
      ]);
    },

    /**
     * Waits until the stream has one consumer for each store, which uses it: those of killed
     * redirectors go after a while.
     */
    async expectConsumers(): Promise<void> {
      const startedAt = performance.now();
      await eventually(async () => {
        const { used, unused } = await findLogConsumers(await connectNats());
        const needed = stores();
        if (used.length !== needed || unused.length > 0)
          throw new Error(`${used.length} consumers of ${needed}, and ${unused.length} unused`);
      }, CONSUMERS_TIMEOUT_MS);
      log(`one consumer for each links store after ${seconds(startedAt)} s`);
    },
  };
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

/** Works on all items, a few at a time; returns the results in their order. */
async function inParallel<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const entries = items.entries();
  const workOn = async (): Promise<void> => {
    for (const [i, item] of entries) results[i] = await work(item);
  };
  await Promise.all(Array.from({ length: REQUESTS_AT_ONCE }, workOn));
  return results;
}
