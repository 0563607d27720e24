/**
 * The API's operations as functions, which reject with a `ShorthopError` after the retries of
 * `ClientOptions`.
 */
import { Analytics } from "./analytics.ts";
import { type CallOptions, Calls } from "./calls.ts";
import { Clicks } from "./clicks.ts";
import { Domains } from "./domains.ts";
import { Events } from "./events.ts";
import type { ClientOptions } from "./http.ts";
import { Keys } from "./keys.ts";
import { Links } from "./links.ts";
import { Reports } from "./reports.ts";
import { Branding, Shared, Shares } from "./shares.ts";
import { Tags } from "./tags.ts";
import { SavedQueries } from "./views.ts";
import { Webhooks } from "./webhooks.ts";

/**
 * What {@link createClient} returns, for parameters and fields that hold a client.
 *
 * @example
 * async function shorten(shorthop: Client, url: string): Promise<string> {
 *   return (await shorthop.links.create({ url })).short_url;
 * }
 */
export class Client {
  readonly links: Links;
  readonly analytics: Analytics;
  readonly clicks: Clicks;
  readonly domains: Domains;
  readonly keys: Keys;
  readonly shares: Shares;
  readonly shared: Shared;
  readonly tags: Tags;
  readonly branding: Branding;
  readonly views: SavedQueries;
  readonly linkFilters: SavedQueries;
  readonly utmTemplates: SavedQueries;
  readonly webhooks: Webhooks;
  readonly reports: Reports;
  readonly events: Events;
  readonly #calls: Calls;

  constructor(options: ClientOptions) {
    const calls = new Calls(options);
    this.#calls = calls;
    this.links = new Links(calls);
    this.analytics = new Analytics(calls);
    this.clicks = new Clicks(calls);
    this.domains = new Domains(calls);
    this.keys = new Keys(calls);
    this.shares = new Shares(calls);
    this.shared = new Shared(calls);
    this.tags = new Tags(calls);
    this.branding = new Branding(calls);
    this.views = new SavedQueries(calls, "views");
    this.linkFilters = new SavedQueries(calls, "link-filters");
    this.utmTemplates = new SavedQueries(calls, "utm-templates");
    this.webhooks = new Webhooks(calls);
    this.reports = new Reports(calls);
    this.events = new Events(calls, options.timeoutMs);
  }

  /**
   * Returns every rate limit and quota with what remains of it. Consumes nothing.
   *
   * @throws ShorthopError `unauthorized`, `key_revoked`.
   * @example
   * const { limits } = await shorthop.limits();
   */
  limits(options?: CallOptions) {
    return this.#calls.get<"getLimits">("/v1/limits", undefined, options);
  }
}

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
export const createClient = (options: ClientOptions): Client => new Client(options);
