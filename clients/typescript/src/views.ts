/** `/v1/views`, `/v1/link-filters` and `/v1/utm-templates`: what is saved under a name. */
import type { CallOptions, Calls } from "./calls.ts";
import { path } from "./http.ts";
import type { Body } from "./types.ts";

type Base = "views" | "link-filters" | "utm-templates";

/** The functions for saved views of analytics, filters of links, or UTM templates. */
export class SavedQueries {
  readonly #calls: Calls;
  readonly #base: Base;

  constructor(calls: Calls, base: Base) {
    this.#calls = calls;
    this.#base = base;
  }

  /**
   * Returns all of the account and mode, by name.
   *
   * @throws ShorthopError `forbidden` without `links:read`, or of views `analytics:read`.
   * @example
   * const { data } = await shorthop.views.list();
   */
  list(options?: CallOptions) {
    return this.#calls.get<"listViews">(path`/v1/${this.#base}`, undefined, options);
  }

  /**
   * Saves a query, in place of the one with its name.
   *
   * @throws ShorthopError `invalid_request`, `quota_exceeded`.
   * @example
   * await shorthop.views.save("Phones in Germany", { query: "country=DE&device=mobile" });
   * @example
   * await shorthop.linkFilters.save("Spring", { query: "utm_campaign=spring&tag=flyers" });
   * @example
   * await shorthop.utmTemplates.save("Mails", { query: "utm_source=crm&utm_medium=email" });
   */
  async save(name: string, body: Body<"saveView">, options?: CallOptions) {
    return this.#calls.put<"saveView">(path`/v1/${this.#base}/${name}`, body, options);
  }

  /**
   * Deletes what has a name.
   *
   * @throws ShorthopError `not_found`.
   * @example
   * await shorthop.views.delete("Phones in Germany");
   */
  async delete(name: string, options?: CallOptions) {
    return this.#calls.delete<"deleteView">(path`/v1/${this.#base}/${name}`, options);
  }
}
