/** Schemas of tag requests and responses, and the rows they come from. */
import * as z from "zod";

import { component, strictComponent } from "../../shared/contracts/components.ts";
import { tag, TAG_LENGTH_MAX, TAGS_MAX } from "../../shared/contracts/link-schemas.ts";
import { TAG_COLORS, tagColorMeta } from "../../shared/contracts/tag-schemas.ts";
import { searchText } from "../../shared/contracts/text-schemas.ts";
import { composeLetters } from "../../shared/contracts/text.ts";
import { count, countOrNull, flag, text } from "../http/common-schemas.ts";
import { cursorParameter, entriesOf, listLimit, nextCursor } from "../http/pagination.ts";

export const listTagsQuery = z.object({
  search: searchText(TAG_LENGTH_MAX)
    .optional()
    .meta({ description: "Text that the name contains, ignoring case.", examples: ["spr"] }),
  sort: z
    .enum(["name", "links", "clicks"])
    .default("name")
    .meta({
      description:
        "By name, or those with the most links or clicks first; tags with the same value by name.",
      examples: ["links"],
    }),
  limit: listLimit,
  starting_after: cursorParameter("The `next_cursor` of the previous page, with the same `sort`."),
});

type ListTagsQuery = z.output<typeof listTagsQuery>;

export type TagSort = ListTagsQuery["sort"];

export const tagParams = z.object({
  name: z
    .string()
    // With composed letters, as tags have. No tag is longer: a longer name is `not_found`.
    .overwrite(composeLetters)
    .meta({
      description: "The tag, percent-encoded.",
      examples: ["spring"],
      maxLength: TAG_LENGTH_MAX,
    }),
});

const tagFields = {
  name: text("The tag.", "spring"),
  color: z.enum(TAG_COLORS).nullable().meta(tagColorMeta),
  links: count("How many links have the tag, with archived ones.", 42),
  clicks: countOrNull(
    "The clicks of these links together; null when there are too many to add up.",
    1284,
  ),
};

export const tagListResponse = component("TagList", "A page of tags.", {
  data: entriesOf(component("Tag", "A tag, with the links that have it.", tagFields)),
  next_cursor: nextCursor,
});

/** How far a change of many links has come. */
const progressFields = {
  changed: count("Links that had one of the tags.", 17),
  done: flag("False when there may be more: repeat the request.", true),
};

export const changedTagResponse = component(
  "ChangedTag",
  "A tag after a change, and how far the change of its links has come.",
  { ...tagFields, ...progressFields },
);

export const progressResponse = component(
  "TagProgress",
  "How far a change of many links has come.",
  progressFields,
);

export type Progress = z.output<typeof progressResponse>;

export const mergeTagsBody = strictComponent("MergeTagsRequest", "Tags to replace by one.", {
  tags: z
    .array(tag)
    .min(1)
    .max(TAGS_MAX)
    .meta({ description: "The tags to replace.", examples: [["sprign", "Spring"]] }),
  into: tag.meta({
    description: "The tag that replaces them; it may exist already.",
    examples: ["spring"],
  }),
});

/** A tag as stored in PostgreSQL. */
export type TagRow = {
  name: string;
  color: (typeof TAG_COLORS)[number] | null;
  links: number;
};

/** A tag with the clicks of its links; null when they are not added up. */
export type CountedTag = TagRow & { clicks: number | null };
