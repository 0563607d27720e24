/** The kinds of call that the resources have in common. */
import { type ApiRequest, type ClientOptions, createSend } from "./http.ts";
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

export type Calls = ReturnType<typeof createCalls>;

/** Creates the calls of a client. */
export function createCalls(options: ClientOptions) {
  const send = createSend(options);

  async function json<Result>(request: ApiRequest): Promise<Result> {
    const response = await send(request);
    // The API validates its responses against the schema that the types were generated from.
    return (await response.json()) as Result;
  }

  const get = async <Result>(
    path: string,
    query?: Query,
    { signal }: CallOptions = {},
  ): Promise<Result> => json<Result>({ method: "GET", path, query, signal });

  return {
    send,
    json,
    get,
    /** A request that creates something, which a retry must not create twice. */
    create: async <Result>(
      path: string,
      body: unknown,
      { idempotencyKey, signal }: CallOptions = {},
      query?: Query,
    ): Promise<Result> =>
      json<Result>({
        method: "POST",
        path,
        query,
        body,
        idempotencyKey: idempotencyKey ?? crypto.randomUUID(),
        signal,
      }),
    remove: async (
      path: string,
      { signal, ifMatch }: ChangeOptions = {},
    ): Promise<ResponseBody<"deleteLink">> =>
      json({ method: "DELETE", path, signal, headers: { "if-match": ifMatch } }),
    csv: async (path: string, query?: Query, { signal }: CallOptions = {}): Promise<string> =>
      (await send({ method: "GET", path, query, signal, accept: "text/csv" })).text(),
    /** Iterates over every entry of a list. */
    list: <Item>(
      path: string,
      { limit, ...query }: NonNullable<Query> = {},
      options?: CallOptions,
    ) =>
      iterateList<Item>(
        (position) => get<ListResponse<Item>>(path, { ...query, ...position }, options),
        limit === undefined ? undefined : Number(limit),
      ),
  };
}
