/** The fields of tags. */
import type { Prose } from "./types.ts";

export const TAG_FIELDS: Readonly<Record<string, Prose>> = {
  "Tag.name": { text: "The tag.", example: "spring" },
  "ChangedTag.name": { text: "The tag.", example: "spring" },
  "TagChange.name": { text: "The new name; all links with the tag get it.", example: "spring" },
  color: { text: "The tag's colour; null for none.", example: "green" },
  merge: {
    text: "Whether the tag becomes one with another that has the new name. False when left out.",
    example: true,
  },
  "Tag.links": { text: "How many links have the tag, with archived ones.", example: 42 },
  "ChangedTag.links": { text: "How many links have the tag, with archived ones.", example: 42 },
  "Tag.clicks": {
    text: "The clicks of these links together; null when they are more than 100,000 links.",
    example: 1284,
  },
  "ChangedTag.clicks": {
    text: "The clicks of these links together; null when they are more than 100,000 links.",
    example: 1284,
  },
};
