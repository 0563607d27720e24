/** `/v1/shared`: statistics that somebody has shared, which need no key. */
import type { CallOptions, Calls } from "./calls.ts";
import { path } from "./path.ts";
import type { Query, ResponseBody } from "./types.ts";

/** Creates the functions that read shared statistics. */
export const createShared = ({ json }: Calls) => ({
  /**
   * Returns shared statistics by the token at the end of their URL; those with a password need the
   * `access` of `unlock`.
   *
   * @throws ShorthopError `not_found` for a token that is unknown, expired or revoked,
   * `unauthorized` without access.
   * @example
   * const { summary, breakdowns } = await shorthop.shared.get(token, { period: "7d" });
   */
  get: async (
    token: string,
    { access, ...query }: Query<"getSharedStatistics"> & { access?: string } = {},
    { signal }: CallOptions = {},
  ) =>
    json<ResponseBody<"getSharedStatistics">>({
      method: "GET",
      path: path`/v1/shared/${token}`,
      query,
      headers: { "x-share-access": access },
      signal,
    }),
  /**
   * Exchanges the password of shared statistics for access, which lasts an hour.
   *
   * @throws ShorthopError `forbidden` for a wrong password, `not_found`, `rate_limited` after too
   * many tries.
   * @example
   * const { access_token: access } = await shorthop.shared.unlock(token, password);
   * const { summary } = await shorthop.shared.get(token, { access });
   */
  unlock: async (token: string, password: string, { signal }: CallOptions = {}) =>
    json<ResponseBody<"unlockSharedStatistics">>({
      method: "POST",
      path: path`/v1/shared/${token}/access`,
      body: { password },
      signal,
    }),
});
