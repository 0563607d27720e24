/** `/v1/links`. */
import {
  type CallOptions,
  type Calls,
  type ChangeOptions,
  inChunks,
  randomKey,
  splitIntoChunks,
} from "./calls.ts";
import { path } from "./http.ts";
import type { Body, Link, PageBody, Query, ResponseBody } from "./types.ts";

type ListQuery = Query<"listLinks">;

/** The functions for links. */
export class Links {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /**
   * Creates a link, which redirects as soon as the call returns. Returns every setting that is on;
   * `forward_query`, the UTM parameters and all other fields with `include: "settings"`.
   *
   * @throws ShorthopError `invalid_url`, `invalid_alias`, `alias_taken`, `invalid_request`,
   * `rate_limited`.
   * @example
   * const link = await shorthop.links.create({ url: "https://example.com/", alias: "hello" });
   */
  create(
    link: Body<"createLink">,
    { include, ...options }: CallOptions & Query<"createLink"> = {},
  ) {
    return this.#calls.create<"createLink">("/v1/links", link, options, { include });
  }

  /**
   * Returns one link; with `include: "settings"` also its UTM parameters and `forward_query`.
   *
   * @throws ShorthopError `not_found`.
   * @example
   * const { clicks, utm_source } = await shorthop.links.get(link.id, { include: "settings" });
   */
  async get(id: string, { include, ...options }: CallOptions & Query<"getLink"> = {}) {
    return this.#calls.get<"getLink">(path`/v1/links/${id}`, { include }, options);
  }

  /**
   * Returns one link with the `ETag` of its version, so that a change or deletion can be refused if
   * another came first.
   *
   * @throws ShorthopError `not_found`.
   * @example
   * const { link, etag } = await shorthop.links.getWithEtag(id);
   * await shorthop.links.update(id, { title: `${link.title}!` }, { ifMatch: etag });
   */
  async getWithEtag(id: string, { include, signal }: CallOptions & Query<"getLink"> = {}) {
    const request = { path: path`/v1/links/${id}`, query: { include }, signal };
    const response = await this.#calls.send({ method: "GET", ...request });
    const link = (await response.json()) as ResponseBody<"getLink">;
    return { link, etag: response.headers.get("etag") ?? "" };
  }

  /**
   * Returns the link of a short URL, or of an alias: on the service's own domain unless you name
   * another one.
   *
   * @throws ShorthopError `not_found`, `invalid_request` for what is no short URL.
   * @example
   * const link = await shorthop.links.lookUp({ short_url: "https://sho.rt/hello" });
   */
  async lookUp(query: Query<"lookUpLink">, options?: CallOptions) {
    return this.#calls.get<"lookUpLink">("/v1/links/lookup", query, options);
  }

  /**
   * Returns one page of links, with the total.
   *
   * @throws ShorthopError `invalid_request` for a parameter out of range.
   * @example
   * const { data, pagination } = await shorthop.links.list({ search: "spring", limit: 50 });
   */
  list(query: Omit<ListQuery, "starting_after"> = {}, options?: CallOptions) {
    return this.#calls.get<"listLinks", PageBody<"listLinks">>("/v1/links", query, options);
  }

  /**
   * Iterates over every matching link. None is skipped or repeated while others are created and
   * deleted.
   *
   * @throws ShorthopError From the iteration, as `list` does.
   * @example
   * for await (const link of shorthop.links.all({ tag: "spring" })) console.log(link.short_url);
   */
  all(query: Omit<ListQuery, "page" | "starting_after"> = {}, options?: CallOptions) {
    return this.#calls.list<Link>("/v1/links", query, options);
  }

  /**
   * Changes the given fields of a link; `null` clears one.
   *
   * @throws ShorthopError `not_found`, `alias_taken`, `invalid_url`, `invalid_request`,
   * `precondition_failed`.
   * @example
   * await shorthop.links.update(link.id, { url: "https://example.com/new", expires_at: null });
   */
  async update(
    id: string,
    change: Body<"updateLink">,
    { include, ...options }: ChangeOptions & Query<"updateLink"> = {},
  ) {
    return this.#calls.patch<"updateLink">(path`/v1/links/${id}`, change, options, { include });
  }

  /**
   * Creates the link with your own id of it, or replaces all of its fields by the given ones; it
   * keeps its alias where you give none.
   *
   * @throws ShorthopError `invalid_url`, `alias_taken`, `invalid_request`, `rate_limited`.
   * @example
   * await shorthop.links.upsert("order-4711", { url: "https://example.com/orders/4711" });
   */
  async upsert(
    externalId: string,
    link: Body<"upsertLink">,
    { include, ...options }: CallOptions & Query<"upsertLink"> = {},
  ) {
    return this.#calls.put<"upsertLink">(path`/v1/links/external/${externalId}`, link, options, {
      include,
    });
  }

  /**
   * Returns the link with your own id of it.
   *
   * @throws ShorthopError `not_found`.
   * @example
   * const { clicks } = await shorthop.links.getByExternalId("order-4711");
   */
  async getByExternalId(
    externalId: string,
    { include, ...options }: CallOptions & Query<"getLinkByExternalId"> = {},
  ) {
    return this.#calls.get<"getLinkByExternalId">(
      path`/v1/links/external/${externalId}`,
      { include },
      options,
    );
  }

  /**
   * Changes the given fields of the link with your own id of it; `null` clears one.
   *
   * @throws ShorthopError As `update`.
   * @example
   * await shorthop.links.updateByExternalId("order-4711", { title: "Order 4711" });
   */
  async updateByExternalId(
    externalId: string,
    change: Body<"updateLinkByExternalId">,
    { include, ...options }: ChangeOptions & Query<"updateLinkByExternalId"> = {},
  ) {
    return this.#calls.patch<"updateLinkByExternalId">(
      path`/v1/links/external/${externalId}`,
      change,
      options,
      { include },
    );
  }

  /**
   * Deletes the link with your own id of it permanently.
   *
   * @throws ShorthopError As `delete`.
   * @example
   * await shorthop.links.deleteByExternalId("order-4711");
   */
  async deleteByExternalId(externalId: string, options?: ChangeOptions) {
    return this.#calls.delete<"deleteLinkByExternalId">(
      path`/v1/links/external/${externalId}`,
      options,
    );
  }

  /**
   * Deletes a link permanently.
   *
   * @throws ShorthopError `not_found`, also on a retry after the first response was lost;
   * `precondition_failed`.
   * @example
   * await shorthop.links.delete(link.id);
   */
  async delete(id: string, options?: ChangeOptions) {
    return this.#calls.delete<"deleteLink">(path`/v1/links/${id}`, options);
  }

  /**
   * Creates any number of links, each of which succeeds or fails on its own. Sends them in requests
   * of up to 100 links (10 with a password) and 1 MB, one after another.
   *
   * @throws ShorthopError When a request as a whole is rejected; errors of single links are in the
   * result. Links of earlier requests exist then, and are in the error's `done`: call again with
   * all links and the error's `idempotencyKey` to go on.
   * @example
   * const { data } = await shorthop.links.createMany([{ url: "https://example.com/a" }]);
   * for (const item of data) if ("error" in item) console.error(item.index, item.error.code);
   */
  async createMany(
    links: Body<"createLinks">["links"],
    { include, ...options }: CallOptions & Query<"createLinks"> = {},
  ): Promise<ResponseBody<"createLinks">> {
    const key = options.idempotencyKey ?? randomKey();
    const chunks = splitIntoChunks(links, (link) => link);
    return await inChunks(
      chunks,
      (chunk, i) =>
        this.#calls.create<"createLinks">(
          "/v1/links/bulk",
          { links: chunk },
          { ...options, idempotencyKey: chunks.length === 1 ? key : `${key}-${i}` },
          { include },
        ),
      key,
    );
  }

  /**
   * Says for each of any number of links whether creating it would succeed, and creates none. Each
   * request of 100 is checked on its own: an alias that two of them have is found when the links
   * are created.
   *
   * @throws ShorthopError When a request as a whole is rejected; what is wrong with single links is
   * in the result.
   * @example const { data } = await shorthop.links.checkMany([{ url: "https://example.com/a",
   * alias: "a" }]); for (const item of data) if ("error" in item) console.error(item.index,
   * item.error.code);
   */
  checkMany(links: Body<"checkLinks">["links"], options?: CallOptions) {
    return inChunks(
      splitIntoChunks(links, (link) => link),
      (chunk) => this.#calls.post<"checkLinks">("/v1/links/bulk/check", { links: chunk }, options),
    );
  }

  /**
   * Changes any number of links, each on its own, in requests of up to 100 links (10 with a
   * password).
   *
   * @throws ShorthopError When a request as a whole is rejected; errors of single links are in the
   * result.
   * @example
   * const { failed } = await shorthop.links.updateMany([{ id: link.id, tags: ["spring"] }]);
   */
  updateMany(
    changes: Body<"updateLinks">["links"],
    { include, ...options }: CallOptions & Query<"updateLinks"> = {},
  ) {
    return inChunks(
      splitIntoChunks(changes, (change) => change),
      (links) =>
        this.#calls.patch<"updateLinks">("/v1/links/bulk", { links }, options, { include }),
    );
  }

  /**
   * Deletes any number of links permanently, each on its own, in requests of up to 100 links.
   *
   * @throws ShorthopError When a request as a whole is rejected; errors of single links are in the
   * result.
   * @example
   * const { data } = await shorthop.links.deleteMany([first.id, second.id]);
   */
  deleteMany(ids: readonly string[], options?: CallOptions) {
    return inChunks(
      splitIntoChunks(ids, (id) => id),
      (chunk) => this.#calls.post<"deleteLinks">("/v1/links/bulk/delete", { ids: chunk }, options),
    );
  }

  /**
   * Explains where a request for a link would be redirected, and why.
   *
   * @throws ShorthopError `not_found`, `invalid_request`.
   * @example
   * const { target } = await shorthop.links.explain(link.id, { country: "DE", language: "de" });
   */
  async explain(id: string, request: Body<"explainLink"> = {}, options?: CallOptions) {
    return this.#calls.post<"explainLink">(path`/v1/links/${id}/explain`, request, options);
  }

  /**
   * Returns the image of a link's QR code, in the account's style where `query` says nothing else.
   *
   * @throws ShorthopError `not_found`, or `invalid_request` for a parameter out of range, or
   * colours that contrast too little.
   * @example const pdf = await shorthop.links.qr(link.id, { format: "pdf", foreground: "1d4ed8",
   * logo: "true" }); const svg = await (await shorthop.links.qr(link.id, { format: "svg"
   * })).text();
   */
  async qr(id: string, query: Query<"getLinkQr"> = {}, { signal }: CallOptions = {}) {
    const response = await this.#calls.send({
      method: "GET",
      path: path`/v1/links/${id}/qr`,
      query,
      signal,
    });
    return await response.blob();
  }
}
