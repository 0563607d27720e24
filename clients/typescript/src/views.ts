/** `/v1/views`, `/v1/link-filters` and `/v1/utm-templates`: what is saved under a name. */
import type { CallOptions, Calls } from "./calls.ts";
import { path } from "./path.ts";
import type { Body, ResponseBody } from "./types.ts";

const savedUnder = ({ get, json }: Calls, base: "views" | "link-filters" | "utm-templates") => ({
  /**
   * Returns all of the account and mode, by name.
   *
   * @throws ShorthopError `forbidden` without `links:read`, or of views `analytics:read`.
   * @example
   * const { data } = await shorthop.views.list();
   */
  list: (options?: CallOptions) =>
    get<ResponseBody<"listViews">>(path`/v1/${base}`, undefined, options),
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
  save: async (name: string, body: Body<"saveView">, { signal }: CallOptions = {}) =>
    json<ResponseBody<"saveView">>({
      method: "PUT",
      path: path`/v1/${base}/${name}`,
      body,
      signal,
    }),
  /**
   * Deletes what has a name.
   *
   * @throws ShorthopError `not_found`.
   * @example
   * await shorthop.views.delete("Phones in Germany");
   */
  delete: async (name: string, { signal }: CallOptions = {}) =>
    json<ResponseBody<"deleteView">>({
      method: "DELETE",
      path: path`/v1/${base}/${name}`,
      signal,
    }),
});

/** Creates the functions for saved views of analytics, filters of links and UTM templates. */
export const createViews = (calls: Calls) => ({
  views: savedUnder(calls, "views"),
  linkFilters: savedUnder(calls, "link-filters"),
  utmTemplates: savedUnder(calls, "utm-templates"),
});
