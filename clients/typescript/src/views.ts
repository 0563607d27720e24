/** `/v1/views`. */
import type { CallOptions, Calls } from "./calls.ts";
import { path } from "./path.ts";
import type { Body, ResponseBody } from "./types.ts";

/** Creates the functions for saved views of analytics. */
export const createViews = ({ get, json }: Calls) => ({
  /**
   * Returns all saved views of the account and mode, by name.
   *
   * @throws ShorthopError `forbidden` without the scope `analytics:read`.
   * @example
   * const { data } = await shorthop.views.list();
   */
  list: (options?: CallOptions) => get<ResponseBody<"listViews">>("/v1/views", undefined, options),
  /**
   * Saves a view, in place of the one with its name.
   *
   * @throws ShorthopError `invalid_request`, `quota_exceeded`.
   * @example
   * await shorthop.views.save("Phones in Germany", { query: "country=DE&device=mobile" });
   */
  save: async (name: string, body: Body<"saveView">, { signal }: CallOptions = {}) =>
    json<ResponseBody<"saveView">>({ method: "PUT", path: path`/v1/views/${name}`, body, signal }),
  /**
   * Deletes a saved view.
   *
   * @throws ShorthopError `not_found`.
   * @example
   * await shorthop.views.delete("Phones in Germany");
   */
  delete: async (name: string, { signal }: CallOptions = {}) =>
    json<ResponseBody<"deleteView">>({
      method: "DELETE",
      path: path`/v1/views/${name}`,
      signal,
    }),
});
