/** Routes of `/v1/tags`. */
import { Elysia } from "elysia";
import * as z from "zod";

import { changeTagBody } from "../../shared/contracts/tag-schemas.ts";
import { readCursor, writeNext } from "../http/pagination.ts";
import { principalOf } from "../http/request-context.ts";
import type { AccessPlugin } from "../site.ts";
import {
  changedTagResponse,
  listTagsQuery,
  mergeTagsBody,
  progressResponse,
  tagListResponse,
  tagParams,
  type TagSort,
} from "./model.ts";
import type { TagService } from "./service.ts";

const WRITE_ACCESS = { scope: "links:write", endpoint: null, cost: 1, expensive: true } as const;

/** Cursors of a list in this order. */
const cursorSchema = (sort: TagSort) =>
  z.tuple([z.literal(`tags ${sort}`), z.int().min(0), z.string()]);

export const tagRoutes = (auth: AccessPlugin, tags: TagService) =>
  new Elysia({ name: "tags", prefix: "/v1/tags", tags: ["Tags"] })
    .use(auth)
    .get(
      "",
      async ({ call, query: { search = "", sort, limit, starting_after: cursor } }) => {
        const text = cursor === "" ? undefined : cursor;
        const position = readCursor(cursorSchema(sort), text);
        const after = position === undefined ? null : ([position[1], position[2]] as const);
        const { rows, next } = await tags.list(principalOf(call), { search, sort, limit, after });
        return {
          data: rows,
          next_cursor: writeNext(next && [`tags ${sort}`, ...next]),
        };
      },
      {
        access: "links:read",
        query: listTagsQuery,
        response: { 200: tagListResponse },
        detail: {
          operationId: "listTags",
          summary: "List tags",
          description:
            "The tags of all links, with archived ones; a tag exists while a link has it. By name, or those with the most links or clicks first. With a `search` in a large account a page may have fewer entries than `limit`: `next_cursor` says whether there are more. Up to 10,000 tags of up to 100,000 links can be sorted by clicks.",
        },
      },
    )
    .patch(
      "/:name",
      ({ call, params, body }) => tags.change(principalOf(call), params.name, body),
      {
        access: WRITE_ACCESS,
        errors: ["tag_taken"],
        params: tagParams,
        body: changeTagBody,
        response: { 200: changedTagResponse },
        detail: {
          operationId: "updateTag",
          summary: "Rename or colour a tag",
          description:
            "Fields that are left out stay as they are. A rename changes all links with the tag, at most 10,000 in one request; while `done` is false, repeat it with `merge`. Returns `tag_taken` if the new name is another tag's, unless `merge` is true: then the two become one, which keeps the colour of the other tag if it has one.",
        },
      },
    )
    .delete("/:name", ({ call, params }) => tags.remove(principalOf(call), params.name), {
      access: WRITE_ACCESS,
      params: tagParams,
      response: { 200: progressResponse },
      detail: {
        operationId: "deleteTag",
        summary: "Delete a tag",
        description:
          "Removes the tag from all links that have it, at most 10,000 in one request; the links stay. Repeat it while `done` is false.",
      },
    })
    .post("/merge", ({ call, body }) => tags.merge(principalOf(call), body.tags, body.into), {
      access: WRITE_ACCESS,
      body: mergeTagsBody,
      response: { 200: progressResponse },
      detail: {
        operationId: "mergeTags",
        summary: "Merge tags",
        description:
          "Replaces tags by one on all links that have them, at most 10,000 links in one request. It keeps its colour, or gets that of the first replaced tag with one.",
      },
    });
