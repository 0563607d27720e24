/** `/v1/shares`. */
import type { CallOptions, Calls } from "./calls.ts";
import { path } from "./path.ts";
import type { Body, ResponseBody, Share } from "./types.ts";

/** Creates the functions for shared statistics. */
export const createShares = ({ get, json, create, remove, list }: Calls) => ({
  /**
   * Shares the statistics of a link, or of all links. The URL is in this response only: it cannot
   * be read later.
   *
   * @throws ShorthopError `not_found` for an unknown link, `invalid_request`, `quota_exceeded`.
   * @example
   * const { url } = await shorthop.shares.create({ link_id: link.id, password: "correct horse" });
   */
  create: (share: Body<"createShare"> = {}, options?: CallOptions) =>
    create<ResponseBody<"createShare">>("/v1/shares", share, options),
  /**
   * Returns one share, without its URL.
   *
   * @throws ShorthopError `not_found`.
   * @example
   * const { breakdowns } = await shorthop.shares.get(share.id);
   */
  get: async (id: string, options?: CallOptions) =>
    get<ResponseBody<"getShare">>(path`/v1/shares/${id}`, undefined, options),
  /**
   * Iterates over every share of the account.
   *
   * @throws ShorthopError From the iteration: `forbidden` without the scope `shares:read`.
   * @example
   * for await (const { id, name } of shorthop.shares.all()) console.log(id, name);
   */
  all: (options?: CallOptions) => list<Share>("/v1/shares", {}, options),
  /**
   * Changes a share. Fields that are left out stay as they are.
   *
   * @throws ShorthopError `not_found`, `invalid_request`.
   * @example
   * await shorthop.shares.update(share.id, { breakdowns: ["country"], password: null });
   */
  update: async (id: string, body: Body<"updateShare">, { signal }: CallOptions = {}) =>
    json<ResponseBody<"updateShare">>({
      method: "PATCH",
      path: path`/v1/shares/${id}`,
      body,
      signal,
    }),
  /**
   * Gives a share another URL, which only this response has; the one before stops working at once.
   *
   * @throws ShorthopError `not_found`.
   * @example
   * const { url } = await shorthop.shares.rotate(share.id);
   */
  rotate: async (id: string, options?: CallOptions) =>
    create<ResponseBody<"rotateShare">>(path`/v1/shares/${id}/rotate`, undefined, options),
  /**
   * Revokes a share: its URL stops working at once.
   *
   * @throws ShorthopError `not_found`.
   * @example
   * await shorthop.shares.revoke(share.id);
   */
  revoke: async (id: string, options?: CallOptions) => remove(path`/v1/shares/${id}`, options),
});
