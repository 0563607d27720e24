/** Goal: who follows events gets each of them once, whatever happens to the connection. */
import { expect, test } from "bun:test";

import { fakeFetch } from "../../../test/harness/fake-fetch.ts";
import { createClient, type FollowOptions, ShorthopError } from "./index.ts";

const page = (next: string, ...ids: string[]) =>
  Response.json({ data: ids.map((id) => ({ id })), has_more: false, next_cursor: next });

const failure = (status: number, code: string) =>
  Response.json({ error: { code, message: code } }, { status });

/** Follows the feed of an API that responds with these, until one event is `last`. */
async function follow(
  responses: readonly (Response | Error)[],
  last: string,
  options: FollowOptions = {},
) {
  const asked: string[] = [];
  const client = createClient({
    baseUrl: "http://localhost",
    retriesMax: 0,
    fetch: fakeFetch(({ url }) => {
      asked.push(new URL(url).search);
      const response = responses[asked.length - 1];
      if (response instanceof Response) return response;
      throw response ?? new Error("The test has no more responses.");
    }),
  });
  const ids: string[] = [];
  try {
    for await (const { id } of client.events.follow(options)) {
      ids.push(id);
      if (id === last) break;
    }
    return { ids, asked, error: undefined };
  } catch (error) {
    return { ids, asked, error };
  }
}

const search = (after: string) =>
  `?type=link.created&type=link.deleted&starting_after=${after}&limit=100&wait=15`;

test("follows by cursor, also after empty pages, without a connection and while the API is away", async () => {
  const { ids, asked } = await follow(
    [
      page("b", "1", "2"),
      page("c"),
      new Error("reset"),
      failure(503, "unavailable"),
      page("d", "3"),
    ],
    "3",
    { starting_after: "a", type: ["link.created", "link.deleted"] },
  );
  expect(ids).toEqual(["1", "2", "3"]);
  expect(asked).toEqual(["a", "b", "c", "c", "c"].map(search));
});

test("ends with an error that a later attempt would meet again", async () => {
  const { ids, error } = await follow([page("b", "1"), failure(410, "cursor_expired")], "none");
  expect(ids).toEqual(["1"]);
  expect(error).toBeInstanceOf(ShorthopError);
  expect(error).toMatchObject({ code: "cursor_expired", status: 410 });
});

test("ends when it is aborted", async () => {
  const { error } = await follow([new Error("reset")], "none", { signal: AbortSignal.abort() });
  expect(error).toMatchObject({ code: "aborted" });
});
