/**
 * `/v1/shares`; `/v1/shared`: statistics that somebody has shared, which need no key; and
 * `/v1/branding`: how their pages present the account, and how its QR codes look.
 */
import type { CallOptions, Calls } from "./calls.ts";
import { path } from "./http.ts";
import type { Body, Query, Share } from "./types.ts";

/** The functions for shared statistics. */
export class Shares {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /**
   * Shares the statistics of a link, or of all links. The URL is in this response only: it cannot
   * be read later.
   *
   * @throws ShorthopError `not_found` for an unknown link, `invalid_request`, `quota_exceeded`.
   * @example
   * const { url } = await shorthop.shares.create({ link_id: link.id, password: "correct horse" });
   */
  create(share: Body<"createShare"> = {}, options?: CallOptions) {
    return this.#calls.create<"createShare">("/v1/shares", share, options);
  }

  /**
   * Returns one share, without its URL.
   *
   * @throws ShorthopError `not_found`.
   * @example
   * const { breakdowns } = await shorthop.shares.get(share.id);
   */
  async get(id: string, options?: CallOptions) {
    return this.#calls.get<"getShare">(path`/v1/shares/${id}`, undefined, options);
  }

  /**
   * Iterates over every share of the account.
   *
   * @throws ShorthopError From the iteration: `forbidden` without the scope `shares:read`.
   * @example
   * for await (const { id, name } of shorthop.shares.all()) console.log(id, name);
   */
  all(options?: CallOptions) {
    return this.#calls.list<Share>("/v1/shares", {}, options);
  }

  /**
   * Changes a share. Fields that are left out stay as they are.
   *
   * @throws ShorthopError `not_found`, `invalid_request`.
   * @example
   * await shorthop.shares.update(share.id, { breakdowns: ["country"], password: null });
   */
  async update(id: string, body: Body<"updateShare">, options?: CallOptions) {
    return this.#calls.patch<"updateShare">(path`/v1/shares/${id}`, body, options);
  }

  /**
   * Gives a share another URL, which only this response has; the one before stops working at once.
   *
   * @throws ShorthopError `not_found`.
   * @example
   * const { url } = await shorthop.shares.rotate(share.id);
   */
  async rotate(id: string, options?: CallOptions) {
    return this.#calls.create<"rotateShare">(path`/v1/shares/${id}/rotate`, undefined, options);
  }

  /**
   * Revokes a share: its URL stops working at once.
   *
   * @throws ShorthopError `not_found`.
   * @example
   * await shorthop.shares.revoke(share.id);
   */
  async revoke(id: string, options?: CallOptions) {
    return this.#calls.delete<"revokeShare">(path`/v1/shares/${id}`, options);
  }
}

/** The functions that read shared statistics. */
export class Shared {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /**
   * Returns shared statistics by the token at the end of their URL; those with a password need the
   * `access` of `unlock`.
   *
   * @throws ShorthopError `not_found` for a token that is unknown, expired or revoked,
   * `unauthorized` without access.
   * @example
   * const { summary, breakdowns } = await shorthop.shared.get(token, { period: "7d" });
   */
  async get(
    token: string,
    { access, ...query }: Query<"getSharedStatistics"> & { access?: string } = {},
    { signal }: CallOptions = {},
  ) {
    return this.#calls.json<"getSharedStatistics">({
      method: "GET",
      path: path`/v1/shared/${token}`,
      query,
      headers: { "x-share-access": access },
      signal,
    });
  }

  /**
   * Exchanges the password of shared statistics for access, which lasts an hour.
   *
   * @throws ShorthopError `forbidden` for a wrong password, `not_found`, `rate_limited` after too
   * many tries.
   * @example
   * const { access_token: access } = await shorthop.shared.unlock(token, password);
   * const { summary } = await shorthop.shared.get(token, { access });
   */
  async unlock(token: string, password: string, options?: CallOptions) {
    return this.#calls.post<"unlockSharedStatistics">(
      path`/v1/shared/${token}/access`,
      { password },
      options,
    );
  }
}

/** The functions for the branding. */
export class Branding {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /**
   * Returns name, colour, logo and style of QR codes of the account, each null if there is none.
   *
   * @throws ShorthopError `forbidden` without the scope `shares:read`.
   * @example
   * const { name, color } = await shorthop.branding.get();
   */
  get(options?: CallOptions) {
    return this.#calls.get<"getBranding">("/v1/branding", undefined, options);
  }

  /**
   * Changes name, colour, logo or style of QR codes. Fields that are left out stay as they are;
   * null removes one.
   *
   * @throws ShorthopError `invalid_request`, also for a logo that is no PNG, JPEG or WebP image, or
   * too large.
   * @example
   * const logo = (await readFile("logo.png")).toString("base64");
   * await shorthop.branding.update({ name: "Acme", color: "#1d4ed8", logo });
   */
  async update(body: Body<"updateBranding">, options?: CallOptions) {
    return this.#calls.patch<"updateBranding">("/v1/branding", body, options);
  }
}
