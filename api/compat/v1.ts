/**
 * Calls of `/v1` in place of a client that speaks another product's API. They are requests of the
 * process to itself, with the client's address and key: what `/v1` checks, limits and counts holds
 * for them, and nothing can be done that the client could not do there.
 */
import * as z from "zod";

import type { Authenticator } from "../auth/access-rules.ts";
import { parseKey } from "../auth/api-key.ts";
import { errorResponse } from "../http/common-schemas.ts";
import { ApiError, notFound } from "../http/errors.ts";
import { readJsonBody } from "../http/json-body.ts";
import { ForwardedRequest } from "../http/request-context.ts";
import { validateValue } from "../http/validation.ts";
import { fullLink, linkListResponse } from "../links/responses.ts";

/** An API of another product. */
export interface CompatibleApi {
  /** Whether a path is one of this API's. */
  serves(path: string): boolean;
  /** Responds to a request in the product's shape, also to one that is refused. */
  respond(v1: V1): Promise<CompatResponse>;
}

/** A response in the shape of another product. */
export type CompatResponse = { status: number; type: string; body: string };

/** The framework's types do not state that a handler turns a request into a response. */
export type Handle = (request: unknown) => unknown;

export type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** Why a request was refused, as `/v1` says it. */
export class Failure extends Error {
  override name = "Failure";

  constructor(
    readonly status: number,
    readonly error: z.output<typeof errorResponse>["error"],
  ) {
    super(error.message);
  }
}

/** Headers of a client's request that `/v1` reads besides its key. */
const FORWARDED = [
  "access-control-request-headers",
  "access-control-request-method",
  "host",
  "idempotency-key",
  "origin",
  "traceparent",
  "x-request-id",
];

/** Headers that describe the body of another response. */
const OF_BODY = ["content-encoding", "content-length", "content-type", "etag", "location"];

/** Maximum bytes of a body: it is one link, whose rules are most of it. */
const BODY_BYTES_MAX = 256 * 1024;

export class V1 {
  /** The client's request, and its URL. */
  readonly request: Request;
  readonly url: URL;
  /** The origin of short links. */
  readonly shortUrl: URL;
  readonly #authenticator: Authenticator;
  readonly #handle: Handle;
  readonly #headers: Headers;
  /** Headers of the last response: the limits, the request's id, and those of CORS. */
  #responseHeaders = new Headers();

  /** `handle` responds to a request of `/v1`. */
  constructor(
    request: Request,
    { url, shortUrl, authenticator }: { url: URL; shortUrl: string; authenticator: Authenticator },
    handle: Handle,
  ) {
    this.request = request;
    this.url = url;
    this.shortUrl = new URL(shortUrl);
    this.#authenticator = authenticator;
    this.#handle = handle;
    // All calls of a request have its id.
    this.#headers = new Headers({ "x-request-id": Bun.randomUUIDv7() });
    for (const name of FORWARDED) {
      const value = request.headers.get(name);
      if (value !== null) this.#headers.set(name, value);
    }
  }

  /**
   * Calls with this key from now on; throws `unauthorized` for a text that is not a key, so that
   * nothing else of such a request is read.
   */
  authorize(key: string | null | undefined): void {
    const isKey = key !== null && key !== undefined && parseKey(key) !== undefined;
    if (!isKey) throw new ApiError("unauthorized", "This request needs an API key of Shorthop.");
    this.#headers.set("authorization", `Bearer ${key}`);
  }

  /** Calls nothing but what says whether the key works. */
  async requireKey(): Promise<void> {
    await this.get(z.object({}), "/v1/limits");
  }

  /**
   * The client's body, of JSON; throws what a body is refused for. As in `/v1`, nobody without a
   * key that works makes this process read one.
   */
  async readBody<Schema extends z.ZodType>(schema: Schema): Promise<z.output<Schema>> {
    if (!this.#authenticator.isVerified(this.#headers)) await this.requireKey();
    return validateValue(schema, await readJsonBody(this.request, BODY_BYTES_MAX));
  }

  /** The client's query, without parameters that are blank. */
  readQuery<Schema extends z.ZodType>(schema: Schema): z.output<Schema> {
    const given = [...this.url.searchParams].filter(([, text]) => text !== "");
    return validateValue(schema, Object.fromEntries(given));
  }

  /** Whether a host, with or without the port of short URLs, is the service's own. */
  isOwnHost(host: string): boolean {
    const { hostname, host: withPort } = this.shortUrl;
    return [hostname, withPort].includes(host.toLowerCase());
  }

  /** Reads something; throws a {@link Failure}. */
  get<Schema extends z.ZodType>(
    schema: Schema,
    path: string,
    query: Query = {},
  ): Promise<z.output<Schema>> {
    const parameters = new URLSearchParams();
    for (const [name, values] of Object.entries(query))
      for (const value of [values ?? []].flat()) parameters.append(name, String(value));
    return this.send(schema, "GET", `${path}?${parameters.toString()}`);
  }

  /** Reads or changes something; throws a {@link Failure}. */
  async send<Schema extends z.ZodType>(
    schema: Schema,
    method: "GET" | "POST" | "PATCH" | "DELETE",
    path: string,
    body?: object,
  ): Promise<z.output<Schema>> {
    const headers = new Headers(this.#headers);
    if (body !== undefined) headers.set("content-type", "application/json");
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await this.#forward(path, init);
    const content: unknown = await response.json();
    if (response.ok) return schema.parse(content);
    throw new Failure(response.status, errorResponse.parse(content).error);
  }

  /** The link with an alias on a domain, by default on the service's own. */
  async findLink(alias: string, domain?: string): Promise<z.output<typeof fullLink>> {
    if (alias === "") throw notFound("link");
    return await this.get(fullLink, "/v1/links/lookup", { alias, domain, include: "settings" });
  }

  /** The newest active links to a destination, some at most. */
  async findLinksTo(url: string, conditions: Query) {
    if (url === "") return [];
    const query = { url, expired: "false", starting_after: "", include: "settings", ...conditions };
    const { data } = await this.get(linkListResponse, "/v1/links", query);
    return data.filter(({ status }) => status === "active");
  }

  /** Why a request was refused, by `/v1` or by an error here, which then counts as one of `/v1`. */
  async explain(error: unknown): Promise<Failure> {
    if (error instanceof Failure) return error;
    const response = await this.#forward("/v1", { headers: this.#headers }, error);
    return new Failure(response.status, errorResponse.parse(await response.json()).error);
  }

  /** The response to a browser that asks whether a page of another origin may call. */
  preflight(): Promise<Response> {
    return this.#forward("/v1/links", { method: "OPTIONS", headers: this.#headers });
  }

  /** The response to the client, with what `/v1` has said of limits and of the request. */
  respond({ status, type, body }: CompatResponse): Response {
    const headers = new Headers(this.#responseHeaders);
    for (const name of OF_BODY) headers.delete(name);
    if (body === "") return new Response(null, { status, headers });
    headers.set("content-type", type);
    return new Response(body, { status, headers });
  }

  async #forward(path: string, init: RequestInit, refusal?: unknown): Promise<Response> {
    const request = new ForwardedRequest(this.request, path, init, refusal);
    const response = await this.#handle(request);
    if (!(response instanceof Response)) throw new Error("A request has no response.");
    this.#responseHeaders = response.headers;
    return response;
  }
}

/** A response in JSON. */
export const toJson = (
  status: number,
  value: object,
  type = "application/json",
): CompatResponse => ({
  status,
  type,
  body: JSON.stringify(value),
});

/** Decodes a path; some clients leave characters as they are, so one that is not encoded stays. */
export function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** The names of fields in another product, and in `/v1`. */
export type Names = ReadonlyMap<string, string>;

/** The fields of a body that `/v1` has too, as it names them; it checks their values. */
export const toFields = (body: Readonly<Record<string, unknown>>, names: Names) =>
  Object.fromEntries(
    [...names]
      .filter(([theirs]) => Object.hasOwn(body, theirs))
      .map(([theirs, ours]) => [ours, body[theirs]]),
  );

/** The field that a request was refused for, if it was one, and why, in the names of a product. */
export function describe({ error: { message, param } }: Failure, names: Names) {
  if (param === undefined) return { field: undefined, message };
  const field = [...names].find(([, ours]) => ours === param)?.[0] ?? param;
  return { field, message: message.replace(param, field) };
}
