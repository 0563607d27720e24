/** `/v1/tags`. */
import type { CallOptions, Calls } from "./calls.ts";
import type { Body, ResponseBody } from "./types.ts";

/** Creates the functions for tags. */
export const createTags = ({ json }: Calls) => {
  /**
   * Merges tags into one, on all links. The API changes up to 10,000 links in a request; the
   * function repeats it until none is left, and returns how many were changed.
   *
   * @throws ShorthopError `invalid_request`.
   * @example
   * const changed = await shorthop.tags.merge({ tags: ["sprign", "Spring"], into: "spring" });
   */
  async function merge(body: Body<"mergeTags">, { signal }: CallOptions = {}): Promise<number> {
    for (let changed = 0; ;) {
      const request = { method: "POST", path: "/v1/tags/merge", body, signal } as const;
      const answer = await json<ResponseBody<"mergeTags">>(request);
      changed += answer.changed;
      if (answer.done) return changed;
    }
  }

  return {
    merge,
    /**
     * Renames a tag on all links, and returns how many were changed. If links have the new name already, the two tags
     * become one.
     *
     * @throws ShorthopError `invalid_request`.
     * @example
     * const changed = await shorthop.tags.rename("sprign", "spring");
     */
    rename: (from: string, into: string, options?: CallOptions): Promise<number> =>
      merge({ tags: [from], into }, options),
  };
};
