/** `/v1/keys`. */
import type { CallOptions, Calls } from "./calls.ts";
import { path } from "./http.ts";
import type { ApiKey, Body } from "./types.ts";

/** The functions for API keys. */
export class Keys {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /**
   * Creates an API key. Its value is in this response only: it cannot be read later.
   *
   * @throws ShorthopError `forbidden` for scopes that the calling key lacks, `invalid_request`.
   * @example
   * const { key } = await shorthop.keys.create({ name: "CI", scopes: ["links:write"] });
   */
  create(key: Body<"createApiKey">, options?: CallOptions) {
    return this.#calls.create<"createApiKey">("/v1/keys", key, options);
  }

  /**
   * Returns one API key, without its value.
   *
   * @throws ShorthopError `not_found`.
   * @example
   * const { last_used_at } = await shorthop.keys.get(key.id);
   */
  async get(id: string, options?: CallOptions) {
    return this.#calls.get<"getApiKey">(path`/v1/keys/${id}`, undefined, options);
  }

  /**
   * Iterates over every API key of the account.
   *
   * @throws ShorthopError From the iteration: `forbidden` without the scope `keys:read`.
   * @example
   * for await (const { name, prefix } of shorthop.keys.all()) console.log(name, prefix);
   */
  all(options?: CallOptions) {
    return this.#calls.list<ApiKey>("/v1/keys", {}, options);
  }

  /**
   * Revokes an API key at once, in every API process.
   *
   * @throws ShorthopError `not_found`.
   * @example
   * await shorthop.keys.revoke(key.id);
   */
  async revoke(id: string, options?: CallOptions) {
    return this.#calls.delete<"revokeApiKey">(path`/v1/keys/${id}`, options);
  }

  /**
   * Replaces an API key by a new one of the same scopes. The old one works for another
   * `grace_seconds`, a day when left out.
   *
   * @throws ShorthopError `not_found`, `invalid_request` for a key that is revoked or rotated
   * already.
   * @example
   * const { key } = await shorthop.keys.rotate(old.id, { grace_seconds: 3600 });
   */
  async rotate(id: string, body: Body<"rotateApiKey"> = {}, options?: CallOptions) {
    return this.#calls.create<"rotateApiKey">(path`/v1/keys/${id}/rotate`, body, options);
  }
}
