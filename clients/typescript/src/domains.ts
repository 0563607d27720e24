/** `/v1/domains`. */
import type { CallOptions, Calls } from "./calls.ts";
import { path } from "./http.ts";
import type { Body, Domain } from "./types.ts";

/** The functions for domains. */
export class Domains {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /**
   * Adds a domain. Links can use it once the TXT record in `verification` was found.
   *
   * @throws ShorthopError `domain_taken`, `invalid_request`.
   * @example
   * const { verification } = await shorthop.domains.create("go.example.com");
   */
  create(domain: string, options?: CallOptions) {
    return this.#calls.create<"createDomain">("/v1/domains", { domain }, options);
  }

  /**
   * Returns one domain.
   *
   * @throws ShorthopError `not_found`.
   * @example
   * const { status } = await shorthop.domains.get(domain.id);
   */
  async get(id: string, options?: CallOptions) {
    return this.#calls.get<"getDomain">(path`/v1/domains/${id}`, undefined, options);
  }

  /**
   * Iterates over every domain of the account.
   *
   * @throws ShorthopError From the iteration: `forbidden` without the scope `domains:read`.
   * @example
   * for await (const { domain } of shorthop.domains.all()) console.log(domain);
   */
  all(options?: CallOptions) {
    return this.#calls.list<Domain>("/v1/domains", {}, options);
  }

  /**
   * Looks up the TXT record now. When it is not found, `status` stays `pending` and `problem` says
   * why.
   *
   * @throws ShorthopError `not_found`, `domain_taken` when another account has verified it.
   * @example
   * const { status, problem } = await shorthop.domains.verify(domain.id);
   */
  async verify(id: string, options?: CallOptions) {
    return this.#calls.post<"verifyDomain">(path`/v1/domains/${id}/verify`, undefined, options);
  }

  /**
   * Changes settings of a verified domain: fields that are left out stay as they are, null switches
   * one off. A change of `case_sensitive` is complete when `switching` is gone from the domain.
   *
   * @throws ShorthopError `not_found`, `invalid_url`, `invalid_request`, `aliases_collide`,
   * `conflict`.
   * @example
   * await shorthop.domains.update(domain.id, { root_url: "https://www.example.com/" });
   */
  async update(id: string, change: Body<"updateDomain">, options?: CallOptions) {
    return this.#calls.patch<"updateDomain">(path`/v1/domains/${id}`, change, options);
  }

  /**
   * Removes a domain.
   *
   * @throws ShorthopError `not_found`, `domain_in_use` while it has links.
   * @example
   * await shorthop.domains.delete(domain.id);
   */
  async delete(id: string, options?: CallOptions) {
    return this.#calls.delete<"deleteDomain">(path`/v1/domains/${id}`, options);
  }
}
