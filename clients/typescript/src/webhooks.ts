/** `/v1/webhooks`. */
import type { CallOptions, Calls } from "./calls.ts";
import { path } from "./http.ts";
import type { Body, Query, Webhook, WebhookDelivery } from "./types.ts";

/** The functions for webhooks. */
export class Webhooks {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /**
   * Creates a webhook. Its secret is in this response only: it cannot be read later.
   *
   * @throws ShorthopError `invalid_url`, `invalid_request`, `quota_exceeded`.
   * @example
   * const { secret } = await shorthop.webhooks.create({
   *   url: "https://hooks.example.com/shorthop",
   *   events: ["link.created", "clicks.recorded"],
   * });
   */
  create(webhook: Body<"createWebhook">, options?: CallOptions) {
    return this.#calls.create<"createWebhook">("/v1/webhooks", webhook, options);
  }

  /**
   * Returns one webhook, without its secret.
   *
   * @throws ShorthopError `not_found`.
   * @example
   * const { status } = await shorthop.webhooks.get(webhook.id);
   */
  async get(id: string, options?: CallOptions) {
    return this.#calls.get<"getWebhook">(path`/v1/webhooks/${id}`, undefined, options);
  }

  /**
   * Iterates over every webhook of the account.
   *
   * @throws ShorthopError From the iteration: `forbidden` without the scope `webhooks:read`.
   * @example
   * for await (const { id, url } of shorthop.webhooks.all()) console.log(id, url);
   */
  all(options?: CallOptions) {
    return this.#calls.list<Webhook>("/v1/webhooks", {}, options);
  }

  /**
   * Changes a webhook, also to pause or continue it. Fields that are left out stay as they are.
   *
   * @throws ShorthopError `not_found`, `invalid_url`, `invalid_request`.
   * @example
   * await shorthop.webhooks.update(webhook.id, { status: "paused" });
   */
  async update(id: string, body: Body<"updateWebhook">, options?: CallOptions) {
    return this.#calls.patch<"updateWebhook">(path`/v1/webhooks/${id}`, body, options);
  }

  /**
   * Deletes a webhook with its deliveries.
   *
   * @throws ShorthopError `not_found`.
   * @example
   * await shorthop.webhooks.delete(webhook.id);
   */
  async delete(id: string, options?: CallOptions) {
    return this.#calls.delete<"deleteWebhook">(path`/v1/webhooks/${id}`, options);
  }

  /**
   * Gives a webhook another secret, which is in this response only. Deliveries are signed with the
   * old one as well for 24 hours.
   *
   * @throws ShorthopError `not_found`.
   * @example
   * const { secret } = await shorthop.webhooks.rotate(webhook.id);
   */
  async rotate(id: string, options?: CallOptions) {
    return this.#calls.create<"rotateWebhookSecret">(
      path`/v1/webhooks/${id}/rotate`,
      undefined,
      options,
    );
  }

  /**
   * Sends a webhook an event of the type `webhook.test`.
   *
   * @throws ShorthopError `not_found`, `conflict` unless it is active.
   * @example
   * const { event_id } = await shorthop.webhooks.test(webhook.id);
   */
  async test(id: string, options?: CallOptions) {
    return this.#calls.post<"testWebhook">(path`/v1/webhooks/${id}/test`, undefined, options);
  }

  /**
   * Iterates over the deliveries of a webhook, newest first.
   *
   * @throws ShorthopError From the iteration: `not_found`.
   * @example
   * for await (const { event_id, error } of shorthop.webhooks.deliveries(id, { status: "failed" }))
   *   console.log(event_id, error);
   */
  deliveries(
    id: string,
    query: Omit<Query<"listWebhookDeliveries">, "page" | "starting_after"> = {},
    options?: CallOptions,
  ) {
    return this.#calls.list<WebhookDelivery>(path`/v1/webhooks/${id}/deliveries`, query, options);
  }

  /**
   * Makes a delivery now, whatever the result of earlier attempts.
   *
   * @throws ShorthopError `not_found`, `conflict` unless the webhook is active.
   * @example
   * await shorthop.webhooks.retry(webhook.id, delivery.id);
   */
  async retry(id: string, delivery: string, options?: CallOptions) {
    return this.#calls.post<"retryWebhookDelivery">(
      path`/v1/webhooks/${id}/deliveries/${delivery}/retry`,
      undefined,
      options,
    );
  }

  /**
   * Delivers every event after one again.
   *
   * @throws ShorthopError `not_found`, `invalid_request` for an event that is no longer kept.
   * @example
   * await shorthop.webhooks.replay(webhook.id, { starting_after: lastEventId });
   */
  async replay(id: string, body: Body<"replayWebhook">, options?: CallOptions) {
    return this.#calls.post<"replayWebhook">(path`/v1/webhooks/${id}/replay`, body, options);
  }
}
