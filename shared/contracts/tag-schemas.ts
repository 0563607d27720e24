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

export const changeTagBody = z.strictObject({
  name: tag.optional().meta({ description: "The new name, which all links with the tag get." }),
  color: z.enum(TAG_COLORS).nullish().meta({ description: "The tag's colour; null for none." }),
  merge: z.boolean().optional().meta({
    description: "Whether the tag may become one with another that has the new name already.",
  }),
});
