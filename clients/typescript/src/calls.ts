/** The kinds of call that the resources have in common. */
import { type ApiRequest, type ClientOptions, send } from "./http.ts";
import { iterateList, type ListResponse } from "./pagination.ts";
import type { ResponseBody } from "./types.ts";

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

/** Sends requests with the options of a client. */
export class Calls {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  async send(request: ApiRequest): Promise<Response> {
    return send(this.#options, request);
  }

  async json<Result>(request: ApiRequest): Promise<Result> {
    const response = await this.send(request);
    // The API validates its responses against the schema that the types were generated from.
    return (await response.json()) as Result;
  }

  async get<Result>(path: string, query?: Query, { signal }: CallOptions = {}): Promise<Result> {
    return this.json<Result>({ method: "GET", path, query, signal });
  }

  /** Sends a request that creates something, which a retry must not create twice. */
  async create<Result>(
    path: string,
    body: unknown,
    { idempotencyKey, signal }: CallOptions = {},
    query?: Query,
  ): Promise<Result> {
    return this.json<Result>({
      method: "POST",
      path,
      query,
      body,
      idempotencyKey: idempotencyKey ?? crypto.randomUUID(),
      signal,
    });
  }

  async remove(
    path: string,
    { signal, ifMatch }: ChangeOptions = {},
  ): Promise<ResponseBody<"deleteLink">> {
    return this.json({ method: "DELETE", path, signal, headers: { "if-match": ifMatch } });
  }

  async csv(path: string, query?: Query, { signal }: CallOptions = {}): Promise<string> {
    return (await this.send({ method: "GET", path, query, signal, accept: "text/csv" })).text();
  }

  /** Iterates over every entry of a list. */
  list<Item>(
    path: string,
    { limit, ...query }: NonNullable<Query> = {},
    options?: CallOptions,
  ): AsyncGenerator<Item, void, undefined> {
    return iterateList<Item>(
      (position) => this.get<ListResponse<Item>>(path, { ...query, ...position }, options),
      limit === undefined ? undefined : Number(limit),
    );
  }
}
