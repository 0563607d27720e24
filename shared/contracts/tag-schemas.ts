/** Schemas of requests that change tags, shared by the API and the dashboard's forms. */
import * as z from "zod";

import { tag } from "./link-schemas.ts";

/** The colours that a tag can have; the dashboard draws each for light and dark pages. */
export const TAG_COLORS = [
  "gray",
  "red",
  "orange",
  "yellow",
  "green",
  "teal",
  "blue",
  "purple",
  "pink",
] as const;

/** The description of a colour in requests and responses. */
export const tagColorMeta = {
  description: "The tag's colour; null for none.",
  examples: ["green" satisfies (typeof TAG_COLORS)[number]],
};

export const changeTagBody = z
  .strictObject({
    name: tag.optional().meta({
      description: "The new name, which all links with the tag get.",
      examples: ["spring"],
    }),
    color: z.enum(TAG_COLORS).nullish().meta(tagColorMeta),
    merge: z
      .boolean()
      .optional()
      .meta({
        description: "Whether the tag may become one with another that has the new name already.",
        examples: [true],
      }),
  })
  .meta({
    id: "TagChange",
    description: "The fields of a tag to change.",
    examples: [{ name: "spring-sale", color: "green" }],
  });
