/**
 * The API's operations as functions, which reject with a `ShorthopError` after the retries of
 * `ClientOptions`.
 */
import { createAnalytics } from "./analytics.ts";
import { createBranding } from "./branding.ts";
import { type CallOptions, createCalls } from "./calls.ts";
import { createClicks } from "./clicks.ts";
import { createDomains } from "./domains.ts";
import { createEventFeed } from "./feed.ts";
import type { ClientOptions } from "./http.ts";
import { createKeys } from "./keys.ts";
import { createLinks } from "./links.ts";
import { createReports } from "./reports.ts";
import { createShared } from "./shared.ts";
import { createShares } from "./shares.ts";
import { createTags } from "./tags.ts";
import type { ResponseBody } from "./types.ts";
import { createViews } from "./views.ts";
import { createWebhooks } from "./webhooks.ts";

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
 * @throws Nothing itself; its functions reject with `ShorthopError` and nothing else.
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
  const calls = createCalls(options);
  return {
    links: createLinks(calls),
    analytics: createAnalytics(calls),
    clicks: createClicks(calls),
    domains: createDomains(calls),
    keys: createKeys(calls),
    shares: createShares(calls),
    shared: createShared(calls),
    tags: createTags(calls),
    branding: createBranding(calls),
    ...createViews(calls),
    webhooks: createWebhooks(calls),
    reports: createReports(calls),
    events: createEventFeed(calls, options.timeoutMs),
    /**
     * Returns every rate limit and quota with what remains of it. Consumes nothing.
     *
     * @throws ShorthopError `unauthorized`, `key_revoked`.
     * @example
     * const { limits } = await shorthop.limits();
     */
    limits: (options?: CallOptions) =>
      calls.get<ResponseBody<"getLimits">>("/v1/limits", undefined, options),
  };
}
