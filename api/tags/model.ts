/** Schemas of tag requests and responses, and the rows they come from. */
import * as z from "zod";

import { tag, TAG_LENGTH_MAX, TAGS_MAX } from "../../shared/contracts/link-schemas.ts";
import { TAG_COLORS } from "../../shared/contracts/tag-schemas.ts";
import { CURSOR_LENGTH_MAX } from "../http/cursor.ts";

export const listTagsQuery = z.object({
  search: z
    .string()
    .max(TAG_LENGTH_MAX)
    .optional()
    .meta({ description: "Text that the name contains, ignoring case." }),
  sort: z.enum(["name", "links", "clicks"]).default("name"),
  limit: z.coerce.number().int().min(1).max(100).default(20),
  starting_after: z.string().max(CURSOR_LENGTH_MAX).optional(),
});

export type ListTagsQuery = z.output<typeof listTagsQuery>;

export type TagSort = ListTagsQuery["sort"];

export const tagParams = z.object({ name: z.string() });

const tagFields = {
  name: z.string(),
  color: z.enum(TAG_COLORS).nullable(),
  links: z.int().meta({ description: "How many links have the tag, with archived ones." }),
  clicks: z.int().nullable().meta({
    description: "The clicks of these links together; null when there are too many to add up.",
  }),
};

export const tagListResponse = z
  .object({
    data: z.array(z.object(tagFields).meta({ id: "Tag" })),
    next_cursor: z.string().nullable(),
  })
  .meta({ id: "TagList" });

/** How far a change of many links has come. */
const progressFields = {
  changed: z.int().meta({ description: "Links that had one of the tags." }),
  done: z.boolean().meta({ description: "False when there may be more: repeat the request." }),
};

export const changedTagResponse = z
  .object({ ...tagFields, ...progressFields })
  .meta({ id: "ChangedTag" });

export const progressResponse = z.object(progressFields).meta({ id: "TagProgress" });

export type Progress = z.output<typeof progressResponse>;

export const mergeTagsBody = z.strictObject({
  tags: z.array(tag).min(1).max(TAGS_MAX).meta({ description: "The tags to replace." }),
  into: tag.meta({ description: "The tag that replaces them; it may exist already." }),
});

/** A tag as stored in PostgreSQL. */
export type TagRow = {
  name: string;
  color: (typeof TAG_COLORS)[number] | null;
  links: number;
};

/** A tag with the clicks of its links; null when they are not added up. */
export type CountedTag = TagRow & { clicks: number | null };
