/** `/v1/tags`. */
import { type CallOptions, type Calls, followCursor } from "./calls.ts";
import { path } from "./http.ts";
import type { Body, Query, ResponseBody, Tag } from "./types.ts";

/** The functions for tags. */
export class Tags {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /**
   * Returns a page of the tags of all links, by name, or those with the most links or clicks
   * first. `next_cursor` continues it as `starting_after`.
   *
   * @throws ShorthopError `invalid_request`, also when there are too many to sort by clicks.
   * @example
   * const { data } = await shorthop.tags.list({ sort: "links", limit: 10 });
   */
  list(query?: Query<"listTags">, options?: CallOptions) {
    return this.#calls.get<"listTags">("/v1/tags", query, options);
  }

  /**
   * Iterates over every tag.
   *
   * @throws ShorthopError From the iteration: `forbidden` without the scope `links:read`.
   * @example for await (const { name, links, clicks } of shorthop.tags.all()) console.log(name,
   * links, clicks);
   */
  all(query?: Omit<Query<"listTags">, "starting_after">, options?: CallOptions) {
    return followCursor<Tag>((position) =>
      this.list({ limit: 100, ...query, ...position }, options),
    );
  }

  /**
   * Renames a tag on all links, and sets its colour. The API changes up to 10,000 links in a
   * request; the function repeats it until none is left, and returns the tag with how many links
   * were changed.
   *
   * @throws ShorthopError `not_found`; `tag_taken` when another tag has the name, unless `merge`
   * is true.
   * @example
   * await shorthop.tags.update("sprign", { name: "spring", color: "green" });
   */
  async update(
    name: string,
    change: Body<"updateTag">,
    options?: CallOptions,
  ): Promise<ResponseBody<"updateTag">> {
    return finish((isRepeated) => {
      // The request before has given some links the new name.
      const body = isRepeated ? { ...change, merge: true } : change;
      return this.#calls.patch<"updateTag">(path`/v1/tags/${name}`, body, options);
    });
  }

  /**
   * Removes a tag from all links, and returns how many had it; the links stay.
   *
   * @throws ShorthopError `not_found`.
   * @example
   * const changed = await shorthop.tags.delete("obsolete");
   */
  async delete(name: string, options?: CallOptions): Promise<number> {
    const of = path`/v1/tags/${name}`;
    const remove = () => this.#calls.delete<"deleteTag">(of, options);
    return (await finish(remove)).changed;
  }

  /**
   * Merges tags into one, on all links, and returns how many were changed.
   *
   * @throws ShorthopError `invalid_request`.
   * @example
   * const changed = await shorthop.tags.merge({ tags: ["sprign", "Spring"], into: "spring" });
   */
  async merge(body: Body<"mergeTags">, options?: CallOptions): Promise<number> {
    const merge = () => this.#calls.post<"mergeTags">("/v1/tags/merge", body, options);
    return (await finish(merge)).changed;
  }
}

/**
 * Repeats a request until the API has changed every link; returns the last response and how many
 * links were changed.
 */
async function finish<Result extends ResponseBody<"mergeTags">>(
  request: (isRepeated: boolean) => Promise<Result>,
): Promise<Result> {
  for (let changed = 0, isRepeated = false; ; isRepeated = true) {
    const response = await request(isRepeated);
    changed += response.changed;
    if (response.done) return { ...response, changed };
  }
}
