/**
 * Reads the HTTP API of another product, within bounds: its server may be broken, slow, endless or
 * hostile. Errors name the product, the path and the field, and no credentials.
 */
import * as z from "zod";

import { normalizeInstant } from "../../shared/contracts/text-schemas.ts";
import { pause } from "../../shared/timeout.ts";
import { type Cursor, type Page, Source, type SourceVisits } from "./source.ts";

/** Time of a request with its response, and bytes of a response: a page has 1,000 rows at most. */
const REQUEST_MS = 60_000;
const BODY_BYTES_MAX = 8 * 1024 ** 2;

/** Requests of one run: a million pages are more than any account has. */
const REQUESTS_MAX = 1_000_000;

/** Maximum attempts at a request, and the longest wait between two: Bitly limits by the hour. */
const ATTEMPTS_MAX = 6;
const WAIT_MAX_MS = 3_660_000;
const FIRST_WAIT_MS = 500;

/** Statuses of responses after which the request is sent again. */
const RETRIED: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/**
 * Maximum characters of a text, as of a user agent: what is longer is no field of a link or visit.
 */
const TEXT_LENGTH_MAX = 16_384;

/** Maximum characters of the path of a field in an error. */
const FIELD_LENGTH_MAX = 100;

/** Maximum characters of a time. */
const TIME_LENGTH_MAX = 40;

/** A text of a response; those that may be absent have `.nullish()`. */
export const text = z.string().max(TEXT_LENGTH_MAX);

/** The start of a URL of an account, which has no credentials: `https://links.example.com`. */
export function parseOrigin(location: string): URL {
  const url = URL.parse(location);
  const isOrigin = url !== null && /^https?:$/.test(url.protocol) && url.username === "";
  if (!isOrigin || url.search !== "" || url.hash !== "")
    throw new Error("It must be a URL such as https://links.example.com.");
  return url;
}

/** An instant, as a text in ISO 8601 or as Unix milliseconds. */
export const instant = z
  .union([z.string().max(TIME_LENGTH_MAX), z.number()])
  .transform((at) => new Date(typeof at === "number" ? at : normalizeInstant(at)))
  .refine((at) => !Number.isNaN(at.getTime()), "expected a time");

/** A source does not do what its documentation says. */
export class SourceError extends Error {
  override name = "SourceError";
}

export class HttpSource {
  readonly #name: string;
  readonly #base: URL;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #requestMs: number;
  readonly #requestsMax: number;
  #requests = 0;
  /** Hashes of the names of pages, and of the first row of each, with where they were. */
  readonly #pages = new Map<number, string>();

  /** `name` is the product's, and `headers` have the credentials. */
  constructor(
    name: string,
    base: URL,
    headers: Readonly<Record<string, string>>,
    requestMs = REQUEST_MS,
    requestsMax = REQUESTS_MAX,
  ) {
    [this.#name, this.#base, this.#headers] = [name, base, headers];
    [this.#requestMs, this.#requestsMax] = [requestMs, requestsMax];
  }

  /**
   * Requests a path, as often as the product's rate limit needs, and parses its JSON with `schema`.
   * Throws {@link SourceError}. Redirects are not followed: they would get the credentials.
   */
  async get<Schema extends z.ZodType>(
    path: string,
    query: Readonly<Record<string, string | number | undefined>>,
    schema: Schema,
    signal: AbortSignal,
  ): Promise<z.output<Schema>> {
    const url = new URL(this.#base.pathname.replace(/\/$/, "") + path, this.#base);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, String(value));
    const body = parseJson(await this.#read(url, path, signal));
    if (body === undefined) throw this.fail(path, "the response is no JSON");
    const { data, error } = schema.safeParse(body.value);
    if (error === undefined) return data;
    const [issue] = error.issues;
    // A name within it can be anything, and as long as a response.
    const field = issue?.path.map(String).join(".").slice(0, FIELD_LENGTH_MAX) || "it";
    throw this.fail(path, `${field}: ${issue?.message}`);
  }

  /**
   * Throws if another page of a list had this first row, or named the same next page: then its
   * pages repeat, and would never end.
   */
  requireNew(path: string, at: string, first: string | undefined, next: string | null): void {
    if (first !== undefined) this.#notePage(path, at, `first ${first}`);
    if (next !== null) this.#notePage(path, at, `next ${next}`);
  }

  #notePage(path: string, at: string, mark: string): void {
    const hash = Number(Bun.hash(`${path} ${mark}`) & 0x1f_ffff_ffff_ffffn);
    const earlier = this.#pages.get(hash);
    if (earlier !== undefined && earlier !== at) throw this.fail(path, "its pages repeat");
    this.#pages.set(hash, at);
  }

  /** An error that names the product and the path. */
  fail(path: string, problem: string): SourceError {
    return new SourceError(`${this.#name}, ${path}: ${problem}.`);
  }

  async #read(url: URL, path: string, signal: AbortSignal): Promise<string> {
    for (let attempt = 1; ; attempt++) {
      if (++this.#requests > this.#requestsMax)
        throw this.fail(path, `there is no end after ${this.#requestsMax} requests`);
      const response = await this.#send(url, path, signal);
      if (response.status === 200) return await this.#readBody(response, path, signal);
      await response.body?.cancel().catch(() => undefined);
      const { status, headers } = response;
      if (status >= 300 && status < 400)
        throw this.fail(path, `it redirects (${status}), which is not followed`);
      if (!RETRIED.has(status)) throw this.fail(path, describeStatus(status));
      const waitMs = waitOf(headers.get("retry-after"), attempt);
      if (attempt === ATTEMPTS_MAX || waitMs > WAIT_MAX_MS)
        throw this.fail(path, `it takes no more requests now (${status}); resume the import later`);
      await pause(waitMs, signal);
      signal.throwIfAborted();
    }
  }

  async #send(url: URL, path: string, signal: AbortSignal): Promise<Response> {
    try {
      return await fetch(url, {
        headers: { accept: "application/json", ...this.#headers },
        redirect: "manual",
        signal: AbortSignal.any([signal, AbortSignal.timeout(this.#requestMs)]),
      });
    } catch {
      signal.throwIfAborted();
      throw this.fail(path, "there is no response");
    }
  }

  async #readBody(response: Response, path: string, signal: AbortSignal): Promise<string> {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    try {
      for await (const chunk of response.body ?? []) {
        bytes += chunk.length;
        if (bytes > BODY_BYTES_MAX) break;
        chunks.push(chunk);
      }
    } catch {
      signal.throwIfAborted();
      throw this.fail(path, "the response does not end");
    }
    if (bytes > BODY_BYTES_MAX) throw this.fail(path, "the response is too long");
    return Buffer.concat(chunks).toString();
  }
}

/** How long to wait before the next attempt: what the product asks for, as seconds or a date. */
function waitOf(retryAfter: string | null, attempt: number): number {
  if (retryAfter === null) return FIRST_WAIT_MS * 2 ** (attempt - 1);
  const seconds = Number(retryAfter);
  const ms = Number.isNaN(seconds) ? Date.parse(retryAfter) - Date.now() : seconds * 1_000;
  return Number.isNaN(ms) ? FIRST_WAIT_MS * 2 ** (attempt - 1) : Math.max(0, ms);
}

function describeStatus(status: number): string {
  if (status === 401 || status === 403)
    return `it refuses the key, or what its plan does not have (${status})`;
  return status === 404 ? "there is no such thing (404)" : `it fails (${status})`;
}

function parseJson(body: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(body) };
  } catch {
    return undefined;
  }
}

/** A page of a list of the product, and what names the next one; null after the last. */
export type ListPage<Item> = { items: readonly Item[]; next: string | null };

/**
 * Reads the visits of a product that lists them by link: it reads pages of links, and the visits of
 * each link in parts. The name of the first part is empty.
 */
export abstract class VisitsByLink<Item> extends Source {
  #list: { at: string; page: ListPage<Item> } | undefined;

  /** Returns a page of links; the first one is at "". */
  protected abstract readList(at: string, signal: AbortSignal): Promise<ListPage<Item>>;

  /** Returns visits of a link until an instant, and the name of its next part. */
  protected abstract readVisits(
    item: Item,
    part: string,
    until: string,
    signal: AbortSignal,
  ): Promise<{ rows: SourceVisits[]; next: string | null }>;

  /**
   * Returns the next part that has visits: other links cost no page. The first page only says when
   * all of them end, so that a run that begins again reads the same ones.
   */
  override async visits(after: Cursor | null, signal: AbortSignal): Promise<Page<SourceVisits>> {
    const until = String(after?.["until"] ?? new Date().toISOString());
    if (after === null) return { rows: [], next: { list: "", index: 0, part: "", until } };
    let [list, part] = [String(after["list"]), String(after["part"])];
    let index = Number(after["index"]);
    for (;;) {
      signal.throwIfAborted();
      if (this.#list?.at !== list)
        this.#list = { at: list, page: await this.readList(list, signal) };
      const { items, next } = this.#list.page;
      const item = items[index];
      if (item === undefined) {
        if (next === null) return { rows: [], next: null };
        [list, index] = [next, 0];
        continue;
      }
      const visits = await this.readVisits(item, part, until, signal);
      [index, part] = visits.next === null ? [index + 1, ""] : [index, visits.next];
      if (visits.rows.length > 0) return { rows: visits.rows, next: { list, index, part, until } };
    }
  }
}
