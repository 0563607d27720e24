/** For requests that do at once what others do one by one: they spend as many from an endpoint's window. */
import type { EndpointLimit } from "../auth/authorize.ts";
import { principalOf } from "../auth/plugin.ts";
import { ApiError } from "../http/errors.ts";
import type { Call } from "../http/request-context.ts";
import type { Sql } from "../postgres.ts";
import { rateLimited, rateLimitHeaders, tightest } from "./windows.ts";

type Asked = { call: Call | undefined; set: { headers: Record<string, string | number> } };

type Row = {
  granted: boolean;
  allowed: number;
  seconds: number;
  spent: number;
  resets_ms: number;
  now_ms: number;
};

export type SpendMore = ReturnType<typeof createSpendMore>;

export const createSpendMore =
  (sql: Sql) =>
  /**
   * Spends `wanted` requests from the endpoint's window, or none and throws `rate_limited`; in either
   * case the answer's headers tell. Throws `invalid_request` when the window never takes as many.
   */
  async ({ call, set }: Asked, endpoint: EndpointLimit, wanted: number): Promise<void> => {
    const { accountId, mode } = principalOf(call);
    const [row] = await sql<[Row]>`
      select * from spend_endpoint(${accountId}, ${mode}, ${endpoint}, ${wanted})`;
    const { granted, allowed, seconds, spent, resets_ms, now_ms } = row;
    if (wanted > allowed) {
      throw new ApiError("invalid_request", `At most ${allowed} at once: that is the limit.`);
    }
    const window = { name: endpoint, allowed, seconds, spent, resetsAt: resets_ms };
    const told = granted ? tightest([...(call?.windows ?? []), window]) : window;
    if (told !== undefined) Object.assign(set.headers, rateLimitHeaders(told));
    if (!granted) throw rateLimited(window, now_ms);
  };
