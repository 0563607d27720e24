/** The API as functions. What creates something is sent under an `Idempotency-Key`, so it is made once. */
import { type Call, type ClientOptions, createSend } from "./http.ts";
import { allPages, type Page } from "./pages.ts";
import type { Answer, ApiKey, Body, Domain, Link, Query } from "./types.ts";

export type CallOptions = {
  signal?: AbortSignal;
  /** For creations: a key of your own, to make one request safe to repeat across restarts. */
  idempotencyKey?: string;
};

export type Client = ReturnType<typeof createClient>;

export function createClient(options: ClientOptions) {
  const send = createSend(options);

  async function json<Result>(call: Call): Promise<Result> {
    const response = await send(call);
    // The API validates its answers against the schema that the types were made from.
    return (await response.json()) as Result;
  }

  const get = <Result>(path: string, query?: Call["query"], { signal }: CallOptions = {}) =>
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
    json<Answer<"deleteLink">>({ method: "DELETE", path, signal });

  const links = {
    create: (link: Body<"createLink">, options?: CallOptions) =>
      create<Answer<"createLink">>("/v1/links", link, options),
    /** Up to 100 at once, each made or refused on its own. */
    createMany: (links: Body<"createLinks">["links"], options?: CallOptions) =>
      create<Answer<"createLinks">>("/v1/links/bulk", { links }, options),
    get: (id: string, options?: CallOptions) =>
      get<Answer<"getLink">>(`/v1/links/${id}`, undefined, options),
    list: (query: Query<"listLinks"> = {}, options?: CallOptions) =>
      get<Answer<"listLinks">>("/v1/links", query, options),
    /** Every link that matches, page after page. */
    all: (query: Omit<Query<"listLinks">, "page"> = {}, options?: CallOptions) =>
      allPages<Link>((page) => get<Page<Link>>("/v1/links", { ...query, page }, options)),
    update: (id: string, change: Body<"updateLink">, { signal }: CallOptions = {}) =>
      json<Answer<"updateLink">>({
        method: "PATCH",
        path: `/v1/links/${id}`,
        body: change,
        signal,
      }),
    /** For good. A second try after a lost answer throws `not_found`. */
    delete: (id: string, options?: CallOptions) => remove(`/v1/links/${id}`, options),
    /** The image of a link's QR code. */
    qr: async (id: string, query: Query<"getLinkQr"> = {}, { signal }: CallOptions = {}) => {
      const path = `/v1/links/${id}/qr`;
      const response = await send({ method: "GET", path, query, signal });
      return await response.blob();
    },
  };

  const analytics = {
    account: (query: Query<"getAccountSummary"> = {}, options?: CallOptions) =>
      get<Answer<"getAccountSummary">>("/v1/analytics", query, options),
    accountGeo: (query: Query<"getAccountGeo"> = {}, options?: CallOptions) =>
      get<Answer<"getAccountGeo">>("/v1/analytics/geo", query, options),
    accountDevices: (query: Query<"getAccountDevices"> = {}, options?: CallOptions) =>
      get<Answer<"getAccountDevices">>("/v1/analytics/devices", query, options),
    accountReferrers: (query: Query<"getAccountReferrers"> = {}, options?: CallOptions) =>
      get<Answer<"getAccountReferrers">>("/v1/analytics/referrers", query, options),
    summary: (link: string, query: Query<"getSummary"> = {}, options?: CallOptions) =>
      get<Answer<"getSummary">>(`/v1/analytics/${link}`, query, options),
    geo: (link: string, query: Query<"getGeo"> = {}, options?: CallOptions) =>
      get<Answer<"getGeo">>(`/v1/analytics/${link}/geo`, query, options),
    devices: (link: string, query: Query<"getDevices"> = {}, options?: CallOptions) =>
      get<Answer<"getDevices">>(`/v1/analytics/${link}/devices`, query, options),
    referrers: (link: string, query: Query<"getReferrers"> = {}, options?: CallOptions) =>
      get<Answer<"getReferrers">>(`/v1/analytics/${link}/referrers`, query, options),
    bulk: (body: Body<"getBulkAnalytics">, { signal }: CallOptions = {}) =>
      json<Answer<"getBulkAnalytics">>({
        method: "POST",
        path: "/v1/analytics/bulk",
        body,
        signal,
      }),
  };

  const domains = {
    create: (domain: string, options?: CallOptions) =>
      create<Answer<"createDomain">>("/v1/domains", { domain }, options),
    get: (id: string, options?: CallOptions) =>
      get<Answer<"getDomain">>(`/v1/domains/${id}`, undefined, options),
    all: (options?: CallOptions) =>
      allPages<Domain>((page) => get<Page<Domain>>("/v1/domains", { page }, options)),
    /** Looks for the proof in DNS now. */
    verify: (id: string, { signal }: CallOptions = {}) =>
      json<Answer<"verifyDomain">>({ method: "POST", path: `/v1/domains/${id}/verify`, signal }),
    delete: (id: string, options?: CallOptions) => remove(`/v1/domains/${id}`, options),
  };

  const keys = {
    /** The value is in the answer, and nowhere else. */
    create: (key: Body<"createKey">, options?: CallOptions) =>
      create<Answer<"createKey">>("/v1/keys", key, options),
    get: (id: string, options?: CallOptions) =>
      get<Answer<"getKey">>(`/v1/keys/${id}`, undefined, options),
    all: (options?: CallOptions) =>
      allPages<ApiKey>((page) => get<Page<ApiKey>>("/v1/keys", { page }, options)),
    revoke: (id: string, options?: CallOptions) => remove(`/v1/keys/${id}`, options),
    rotate: (id: string, body: Body<"rotateKey"> = {}, options?: CallOptions) =>
      create<Answer<"rotateKey">>(`/v1/keys/${id}/rotate`, body, options),
  };

  return {
    links,
    analytics,
    domains,
    keys,
    /** Every limit with its state; spends nothing. */
    limits: (options?: CallOptions) => get<Answer<"getLimits">>("/v1/limits", undefined, options),
  };
}
