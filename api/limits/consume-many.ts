/**
 * Rate limiting of bulk requests, which consume one request from the endpoint's window for each
 * item.
 */
import { ApiError } from "../http/errors.ts";
import { mostConstrained, rateLimited, rateLimitHeaders } from "../http/rate-limit.ts";
import { type Call, principalOf } from "../http/request-context.ts";
import type { Sql } from "../postgres.ts";
import type { EndpointLimit } from "./quotas.ts";
import { consumeEndpoint } from "./sql.ts";

type RateLimitContext = {
  call: Call | undefined;
  set: { headers: Record<string, string | number> };
};

export type ConsumeMany = ReturnType<typeof createConsumeMany>;

export const createConsumeMany =
  (sql: Sql) =>
  /**
   * Consumes `requested` requests from the endpoint's window. When too few are left, consumes none
   * and throws `rate_limited`. Sets the rate-limit headers either way. Throws `invalid_request`
   * when `requested` exceeds the window's limit.
   */
  async (
    { call, set }: RateLimitContext,
    endpoint: EndpointLimit,
    requested: number,
  ): Promise<void> => {
    const row = await consumeEndpoint(sql, principalOf(call), endpoint, requested);
    const { granted, allowed: limit, seconds, spent: used, resets_ms: resetsAt, now_ms } = row;
    if (requested > limit) {
      throw new ApiError("invalid_request", `At most ${limit} at once: that is the limit.`);
    }
    const window = { name: endpoint, limit, seconds, used, resetsAt };
    const described = granted ? mostConstrained([...(call?.windows ?? []), window]) : window;
    if (described !== undefined) Object.assign(set.headers, rateLimitHeaders(described));
    if (!granted) throw rateLimited(window, now_ms, requested);
  };
