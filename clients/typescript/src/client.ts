/**
 * The API's operations as functions. They reject with a `ShorthopError` when the API returns an error, with an `AbortError`
 * when the signal aborts, with a `TimeoutError` when an attempt takes too long, and with the `TypeError` of `fetch`
 * when the API cannot be reached, each after the retries of `ClientOptions`.
 */
import { type ApiRequest, type ClientOptions, createSend } from "./http.ts";
import { iteratePages, type Page } from "./pagination.ts";
import type { ApiKey, Body, Domain, Link, Query, ResponseBody } from "./types.ts";

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
   * For calls that create something: an `Idempotency-Key` of your own (up to 255 printable ASCII characters), which
   * makes the call safe to repeat after a restart of your program. A random one per call when left out.
   */
  idempotencyKey?: string;
};

/**
 * What {@link createClient} returns, for parameters and fields that hold a client.
 *
 * @example
 * async function shorten(shorthop: Client, url: string): Promise<string> {
 *   return (await shorthop.links.create({ url })).short_url;
 * }
 */
export type Client = ReturnType<typeof createClient>;

/**
 * Creates a client. Sends nothing, and holds no connection that would have to be closed.
 *
 * Requests that create something carry an `Idempotency-Key`, so a retry never creates a second one.
 *
 * @throws Nothing itself; its functions reject with `ShorthopError` and with what `fetch` rejects with.
 * @example
 * const shorthop = createClient({ baseUrl: "https://api.example.com", apiKey: "sk_live_…" });
 * try {
 *   const link = await shorthop.links.create({ url: "https://example.com/", alias: "hello" });
 *   console.log(link.short_url);
 * } catch (error) {
 *   if (!(error instanceof ShorthopError) || error.code !== "alias_taken") throw error;
 * }
 */
export function createClient(options: ClientOptions) {
  const send = createSend(options);

  async function json<Result>(request: ApiRequest): Promise<Result> {
    const response = await send(request);
    // The API validates its responses against the schema that the types were generated from.
    return (await response.json()) as Result;
  }

  const get = <Result>(path: string, query?: ApiRequest["query"], { signal }: CallOptions = {}) =>
    json<Result>({ method: "GET", path, query, signal });

  const create = <Result>(path: string, body: unknown, options: CallOptions = {}) =>
    json<Result>({
      method: "POST",
      path,
      body,
      idempotencyKey: options.idempotencyKey ?? crypto.randomUUID(),
      signal: options.signal,
    });

  const remove = (path: string, { signal }: CallOptions = {}) =>
    json<ResponseBody<"deleteLink">>({ method: "DELETE", path, signal });

  const links = {
    /**
     * Creates a link. It redirects everywhere when the promise resolves.
     *
     * @throws ShorthopError `alias_taken`, `invalid_alias`, `invalid_url`, `invalid_request` …
     * @example
     * const { id, short_url } = await shorthop.links.create({ url: "https://example.com/", tags: ["spring"] });
     */
    create: (link: Body<"createLink">, options?: CallOptions) =>
      create<ResponseBody<"createLink">>("/v1/links", link, options),
    /**
     * Creates up to 100 links, each of which succeeds or fails on its own.
     *
     * @throws ShorthopError Only when the request as a whole is rejected; errors of single links are in the result.
     * @example
     * const { data } = await shorthop.links.createMany([{ url: "https://example.com/a" }]);
     * for (const item of data) if ("error" in item) console.error(item.index, item.error.code);
     */
    createMany: (links: Body<"createLinks">["links"], options?: CallOptions) =>
      create<ResponseBody<"createLinks">>("/v1/links/bulk", { links }, options),
    /**
     * Returns one link.
     *
     * @throws ShorthopError `not_found`.
     * @example
     * const { clicks } = await shorthop.links.get(link.id);
     */
    get: (id: string, options?: CallOptions) =>
      get<ResponseBody<"getLink">>(`/v1/links/${id}`, undefined, options),
    /**
     * Returns one page of links, with the total.
     *
     * @throws ShorthopError `invalid_request` for a parameter out of range.
     * @example
     * const { data, pagination } = await shorthop.links.list({ search: "spring", limit: 50 });
     */
    list: (query: Query<"listLinks"> = {}, options?: CallOptions) =>
      get<ResponseBody<"listLinks">>("/v1/links", query, options),
    /**
     * Iterates over every matching link. Fetches a page when its first link is reached.
     *
     * @throws ShorthopError From the iteration, as `list` does.
     * @example
     * for await (const link of shorthop.links.all({ tag: "spring" })) console.log(link.short_url);
     */
    all: (query: Omit<Query<"listLinks">, "page"> = {}, options?: CallOptions) =>
      iteratePages<Link>((page) => get<Page<Link>>("/v1/links", { ...query, page }, options)),
    /**
     * Changes the given fields of a link; `null` clears one.
     *
     * @throws ShorthopError `not_found`, `alias_taken`, `invalid_url`, `invalid_request` …
     * @example
     * await shorthop.links.update(link.id, { url: "https://example.com/new", expires_at: null });
     */
    update: (id: string, change: Body<"updateLink">, { signal }: CallOptions = {}) =>
      json<ResponseBody<"updateLink">>({
        method: "PATCH",
        path: `/v1/links/${id}`,
        body: change,
        signal,
      }),
    /**
     * Deletes a link permanently.
     *
     * @throws ShorthopError `not_found`, also on a retry after the first response was lost.
     * @example
     * await shorthop.links.delete(link.id);
     */
    delete: (id: string, options?: CallOptions) => remove(`/v1/links/${id}`, options),
    /**
     * Returns the image of a link's QR code.
     *
     * @throws ShorthopError `not_found`, or `invalid_request` for a parameter out of range.
     * @example
     * const svg = await (await shorthop.links.qr(link.id, { format: "svg" })).text();
     */
    qr: async (id: string, query: Query<"getLinkQr"> = {}, { signal }: CallOptions = {}) => {
      const path = `/v1/links/${id}/qr`;
      const response = await send({ method: "GET", path, query, signal });
      return await response.blob();
    },
  };

  const analytics = {
    /**
     * Returns clicks and unique visitors of all links together, over time.
     *
     * @throws ShorthopError `invalid_request`, `unavailable`.
     * @example
     * const { summary } = await shorthop.analytics.account({ period: "7d" });
     */
    account: (query: Query<"getAccountSummary"> = {}, options?: CallOptions) =>
      get<ResponseBody<"getAccountSummary">>("/v1/analytics", query, options),
    /**
     * Returns the clicks of all links by country, region or city.
     *
     * @throws ShorthopError `invalid_request`, `unavailable`.
     * @example
     * const { data } = await shorthop.analytics.accountGeo({ group_by: "city", period: "30d" });
     */
    accountGeo: (query: Query<"getAccountGeo"> = {}, options?: CallOptions) =>
      get<ResponseBody<"getAccountGeo">>("/v1/analytics/geo", query, options),
    /**
     * Returns the clicks of all links by device, browser and operating system.
     *
     * @throws ShorthopError `invalid_request`, `unavailable`.
     * @example
     * const { devices } = await shorthop.analytics.accountDevices();
     */
    accountDevices: (query: Query<"getAccountDevices"> = {}, options?: CallOptions) =>
      get<ResponseBody<"getAccountDevices">>("/v1/analytics/devices", query, options),
    /**
     * Returns the clicks of all links by referrer.
     *
     * @throws ShorthopError `invalid_request`, `unavailable`.
     * @example
     * const { referrers } = await shorthop.analytics.accountReferrers();
     */
    accountReferrers: (query: Query<"getAccountReferrers"> = {}, options?: CallOptions) =>
      get<ResponseBody<"getAccountReferrers">>("/v1/analytics/referrers", query, options),
    /**
     * Returns clicks and unique visitors of a link, over time.
     *
     * @throws ShorthopError `not_found`, `invalid_request`, `unavailable`.
     * @example
     * const { summary } = await shorthop.analytics.summary(link.id, { period: "24h" });
     */
    summary: (link: string, query: Query<"getSummary"> = {}, options?: CallOptions) =>
      get<ResponseBody<"getSummary">>(`/v1/analytics/${link}`, query, options),
    /**
     * Returns a link's clicks by country, region or city.
     *
     * @throws ShorthopError `not_found`, `invalid_request`, `unavailable`.
     * @example
     * const { data } = await shorthop.analytics.geo(link.id, { group_by: "country" });
     */
    geo: (link: string, query: Query<"getGeo"> = {}, options?: CallOptions) =>
      get<ResponseBody<"getGeo">>(`/v1/analytics/${link}/geo`, query, options),
    /**
     * Returns a link's clicks by device, browser and operating system.
     *
     * @throws ShorthopError `not_found`, `invalid_request`, `unavailable`.
     * @example
     * const { devices } = await shorthop.analytics.devices(link.id);
     */
    devices: (link: string, query: Query<"getDevices"> = {}, options?: CallOptions) =>
      get<ResponseBody<"getDevices">>(`/v1/analytics/${link}/devices`, query, options),
    /**
     * Returns a link's clicks by referrer.
     *
     * @throws ShorthopError `not_found`, `invalid_request`, `unavailable`.
     * @example
     * const { referrers } = await shorthop.analytics.referrers(link.id);
     */
    referrers: (link: string, query: Query<"getReferrers"> = {}, options?: CallOptions) =>
      get<ResponseBody<"getReferrers">>(`/v1/analytics/${link}/referrers`, query, options),
    /**
     * Returns figures of several links. Links that do not exist are listed under `errors`.
     *
     * @throws ShorthopError `invalid_request`, `unavailable`.
     * @example
     * const { data } = await shorthop.analytics.bulk({ link_ids: [first.id, second.id], period: "7d" });
     */
    bulk: (body: Body<"getBulkAnalytics">, { signal }: CallOptions = {}) =>
      json<ResponseBody<"getBulkAnalytics">>({
        method: "POST",
        path: "/v1/analytics/bulk",
        body,
        signal,
      }),
  };

  const domains = {
    /**
     * Adds a domain. Links can use it once the TXT record in `verification` was found.
     *
     * @throws ShorthopError `domain_taken`, `invalid_request`.
     * @example
     * const { verification } = await shorthop.domains.create("go.example.com");
     */
    create: (domain: string, options?: CallOptions) =>
      create<ResponseBody<"createDomain">>("/v1/domains", { domain }, options),
    /**
     * Returns one domain.
     *
     * @throws ShorthopError `not_found`.
     * @example
     * const { status } = await shorthop.domains.get(domain.id);
     */
    get: (id: string, options?: CallOptions) =>
      get<ResponseBody<"getDomain">>(`/v1/domains/${id}`, undefined, options),
    /**
     * Iterates over every domain of the account.
     *
     * @throws ShorthopError From the iteration: `forbidden` without the scope `domains:read`.
     * @example
     * for await (const { domain } of shorthop.domains.all()) console.log(domain);
     */
    all: (options?: CallOptions) =>
      iteratePages<Domain>((page) => get<Page<Domain>>("/v1/domains", { page }, options)),
    /**
     * Looks up the TXT record now. When it is not found, `status` stays `pending` and `problem` says why.
     *
     * @throws ShorthopError `not_found`, `domain_taken` when another account has verified it.
     * @example
     * const { status, problem } = await shorthop.domains.verify(domain.id);
     */
    verify: (id: string, { signal }: CallOptions = {}) =>
      json<ResponseBody<"verifyDomain">>({
        method: "POST",
        path: `/v1/domains/${id}/verify`,
        signal,
      }),
    /**
     * Removes a domain.
     *
     * @throws ShorthopError `not_found`, `domain_in_use` while it has links.
     * @example
     * await shorthop.domains.delete(domain.id);
     */
    delete: (id: string, options?: CallOptions) => remove(`/v1/domains/${id}`, options),
  };

  const keys = {
    /**
     * Creates an API key. Its value is in this response only: it cannot be read later.
     *
     * @throws ShorthopError `forbidden` for scopes that the calling key lacks, `invalid_request`.
     * @example
     * const { key } = await shorthop.keys.create({ name: "CI", scopes: ["links:write"] });
     */
    create: (key: Body<"createKey">, options?: CallOptions) =>
      create<ResponseBody<"createKey">>("/v1/keys", key, options),
    /**
     * Returns one API key, without its value.
     *
     * @throws ShorthopError `not_found`.
     * @example
     * const { last_used_at } = await shorthop.keys.get(key.id);
     */
    get: (id: string, options?: CallOptions) =>
      get<ResponseBody<"getKey">>(`/v1/keys/${id}`, undefined, options),
    /**
     * Iterates over every API key of the account.
     *
     * @throws ShorthopError From the iteration: `forbidden` without the scope `keys:read`.
     * @example
     * for await (const { name, prefix } of shorthop.keys.all()) console.log(name, prefix);
     */
    all: (options?: CallOptions) =>
      iteratePages<ApiKey>((page) => get<Page<ApiKey>>("/v1/keys", { page }, options)),
    /**
     * Revokes an API key at once, in every API process.
     *
     * @throws ShorthopError `not_found`.
     * @example
     * await shorthop.keys.revoke(key.id);
     */
    revoke: (id: string, options?: CallOptions) => remove(`/v1/keys/${id}`, options),
    /**
     * Replaces an API key by a new one of the same scopes. The old one works for another `grace_seconds`.
     *
     * @throws ShorthopError `not_found`, `invalid_request` for a key that is revoked or rotated already.
     * @example
     * const { key } = await shorthop.keys.rotate(old.id, { grace_seconds: 3600 });
     */
    rotate: (id: string, body: Body<"rotateKey"> = {}, options?: CallOptions) =>
      create<ResponseBody<"rotateKey">>(`/v1/keys/${id}/rotate`, body, options),
  };

  return {
    links,
    analytics,
    domains,
    keys,
    /**
     * Returns every rate limit and quota with what remains of it. Consumes nothing.
     *
     * @throws ShorthopError `unauthorized`, `key_revoked`.
     * @example
     * const { limits } = await shorthop.limits();
     */
    limits: (options?: CallOptions) =>
      get<ResponseBody<"getLimits">>("/v1/limits", undefined, options),
  };
}
