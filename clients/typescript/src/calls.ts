/** The kinds of call that the resources have in common. */
import { ShorthopError, stopMidway } from "./errors.ts";
import { type ApiRequest, type ClientOptions, send } from "./http.ts";
import type { OperationId, ResponseBody } from "./types.ts";

/**
 * Options of a single call.
 *
 * @example
 * await shorthop.links.create({ url }, { idempotencyKey: `import-${row.id}` });
 */
export type CallOptions = {
  /** Aborts the call and its retries. */
  signal?: AbortSignal;
  /**
   * For calls that create something: an `Idempotency-Key` of your own (up to 255 printable ASCII
   * characters), which makes the call safe to repeat after a restart of your program. A random one
   * per call when left out.
   */
  idempotencyKey?: string;
};

/**
 * Options of a call that changes or deletes a link.
 *
 * @example
 * await shorthop.links.update(link.id, { title: "New" }, { ifMatch: etag });
 */
export type ChangeOptions = {
  /** Aborts the call and its retries. */
  signal?: AbortSignal;
  /**
   * Rejects with `precondition_failed` if the link has changed since `links.getWithEtag` returned
   * this.
   */
  ifMatch?: string;
};

type Query = ApiRequest["query"];

/**
 * A random text that no other call has. Browsers have `crypto.randomUUID` on pages with https only,
 * and a dashboard within a private network may be reached without.
 */
export const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint32Array(4)), (word) => word.toString(36)).join("");

/** Sends requests with the options of a client; what they return has the type of an operation. */
export class Calls {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  async send(request: ApiRequest): Promise<Response> {
    return send(this.#options, request);
  }

  async json<Id extends OperationId, Result = ResponseBody<Id>>(
    request: ApiRequest,
  ): Promise<Result> {
    const response = await this.send(request);
    // The API validates its responses against the schema that the types were generated from.
    return (await response.json()) as Result;
  }

  async get<Id extends OperationId, Result = ResponseBody<Id>>(
    path: string,
    query?: Query,
    { signal }: CallOptions = {},
  ): Promise<Result> {
    return this.json<Id, Result>({ method: "GET", path, query, signal });
  }

  /** Sends a request that creates something, which a retry must not create twice. */
  async create<Id extends OperationId>(
    path: string,
    body: unknown,
    { idempotencyKey = randomKey(), signal }: CallOptions = {},
    query?: Query,
  ): Promise<ResponseBody<Id>> {
    return this.json<Id>({ method: "POST", path, query, body, idempotencyKey, signal });
  }

  // Requests that can be repeated: they set, delete or ask something.

  put<Id extends OperationId>(
    path: string,
    body: unknown,
    options?: ChangeOptions,
    query?: Query,
  ): Promise<ResponseBody<Id>> {
    return this.#change<Id>({ method: "PUT", path, query, body }, options);
  }

  patch<Id extends OperationId>(
    path: string,
    body: unknown,
    options?: ChangeOptions,
    query?: Query,
  ): Promise<ResponseBody<Id>> {
    return this.#change<Id>({ method: "PATCH", path, query, body }, options);
  }

  post<Id extends OperationId>(
    path: string,
    body: unknown,
    options?: ChangeOptions,
  ): Promise<ResponseBody<Id>> {
    return this.#change<Id>({ method: "POST", path, body }, options);
  }

  delete<Id extends OperationId>(path: string, options?: ChangeOptions): Promise<ResponseBody<Id>> {
    return this.#change<Id>({ method: "DELETE", path }, options);
  }

  #change<Id extends OperationId>(
    request: ApiRequest,
    { signal, ifMatch }: ChangeOptions = {},
  ): Promise<ResponseBody<Id>> {
    return this.json<Id>({ ...request, signal, headers: { "if-match": ifMatch } });
  }

  async csv(path: string, query?: Query, { signal }: CallOptions = {}): Promise<string> {
    return (await this.send({ method: "GET", path, query, signal, accept: "text/csv" })).text();
  }

  /** Iterates over every entry of a list, which also has numbered pages. */
  list<Item>(
    path: string,
    query: Query = {},
    { signal }: CallOptions = {},
  ): AsyncGenerator<Item, void, undefined> {
    return followCursor(async (position) => {
      // An empty cursor is the start of the list.
      const part = { limit: LIMIT_MAX, starting_after: "", ...query, ...position };
      const response = await this.send({ method: "GET", path, query: part, signal });
      return (await response.json()) as CursorResponse<Item>;
    });
  }
}

type CursorResponse<Item> = { data: Item[]; next_cursor?: string | null };

/** The most entries that the API returns at once. */
const LIMIT_MAX = 100;

/**
 * Yields every entry of a list, by cursor: entries that are created or deleted meanwhile neither
 * repeat nor hide others. Fetches the next part when the iteration reaches it.
 */
export async function* followCursor<Item>(
  fetchPart: (position: { starting_after?: string }) => Promise<CursorResponse<Item>>,
): AsyncGenerator<Item, void, undefined> {
  for (let position: { starting_after?: string } = {}; ;) {
    const { data, next_cursor } = await fetchPart(position);
    yield* data;
    if (typeof next_cursor !== "string") return;
    position = { starting_after: next_cursor };
  }
}

/** What is sent of a link: a new one, a change of one, or its id. */
type Sent = string | { password?: string | null | undefined };

/** What one request may have: links, those of them with a password, and bytes as JSON. */
const REQUEST_LIMITS = { links: 100, passwords: 10, bytes: 1_000_000 };

const encoder = new TextEncoder();

/** Splits a list into parts of which one request each is accepted, in order. */
export function splitIntoChunks<Item>(
  items: readonly Item[],
  sentOf: (item: Item) => Sent,
  limits = REQUEST_LIMITS,
): Item[][] {
  const chunks: Item[][] = [];
  let [passwords, bytes] = [0, 0];
  for (const item of items) {
    const sent = sentOf(item);
    const password = typeof sent === "object" && typeof sent.password === "string" ? 1 : 0;
    // A comma separates it from the next one.
    const size = encoder.encode(JSON.stringify(sent)).length + 1;
    const last = chunks.at(-1);
    const isFull =
      last?.length === limits.links ||
      passwords + password > limits.passwords ||
      bytes + size > limits.bytes;
    if (last === undefined || isFull) {
      chunks.push([item]);
      [passwords, bytes] = [password, size];
    } else {
      last.push(item);
      passwords += password;
      bytes += size;
    }
  }
  return chunks;
}

/** The response about many links: an entry for each, by its position in the request, and counts. */
type BulkResponse = { data: { index: number }[] };

/**
 * Sends chunks one after another, and merges their responses: positions are those in the whole
 * list, and counts are added. An empty list is sent as one empty chunk, so that the API says what
 * is wrong with it. If a request fails, the error has the result of those before it, and the key
 * with which all can be sent again.
 */
export async function inChunks<Item, Result extends BulkResponse>(
  chunks: readonly Item[][],
  send: (chunk: Item[], i: number) => Promise<Result>,
  idempotencyKey?: string,
): Promise<Result> {
  const [first = [], ...others] = chunks;
  const whole = await send(first, 0);
  let sent = first.length;
  for (const [i, chunk] of others.entries()) {
    const { data, ...counts } = await send(chunk, i + 1).catch((error: unknown) => {
      const total = chunks.reduce((sum, { length }) => sum + length, 0);
      throw error instanceof ShorthopError
        ? stopMidway(error, whole, total, idempotencyKey)
        : error;
    });
    for (const item of data) whole.data.push({ ...item, index: item.index + sent });
    for (const [name, count] of Object.entries(counts)) {
      if (typeof count === "number")
        Reflect.set(whole, name, Number(Reflect.get(whole, name)) + count);
    }
    sent += chunk.length;
  }
  return whole;
}
