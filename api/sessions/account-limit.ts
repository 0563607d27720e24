/** The limit of the requests that all users of an account make in the dashboard together. */
import type { Uuid } from "../../shared/ids.ts";
import { rateLimited, rateLimitHeaders } from "../http/rate-limit.ts";
import { createLocalLimit, type LocalLimit } from "../limits/local-limit.ts";

/** Of a free account, and of one without a plan that is known. */
const FREE = 2_400;

/** Requests per minute, by plan: an owner can invite any number of users, so theirs add up. */
const LIMITS: Readonly<Record<string, number>> = {
  free: FREE,
  pro: 6_000,
  business: 12_000,
  enterprise: 12_000,
};

const WINDOW = { name: "account", seconds: 60, keysMax: 50_000 };

export class AccountLimit {
  readonly #byPlan: ReadonlyMap<string, LocalLimit> = new Map(
    Object.entries(LIMITS).map(([plan, limit]) => [plan, createLocalLimit({ ...WINDOW, limit })]),
  );
  readonly #others = createLocalLimit({ ...WINDOW, limit: FREE });

  /**
   * Consumes a request of an account; throws `rate_limited`, with the window in the headers, when
   * none is left. The headers of other responses describe the user's own window.
   */
  enforce(
    { accountId, plan }: { accountId: Uuid; plan: string },
    headers: Record<string, string | number>,
  ): void {
    const { window, granted } = (this.#byPlan.get(plan) ?? this.#others).consume(accountId);
    if (granted) return;
    Object.assign(headers, rateLimitHeaders(window));
    throw rateLimited(window, Date.now());
  }
}
