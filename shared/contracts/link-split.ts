/** Schemas of splits, as requests set them and as the API returns them. */
import * as z from "zod";

import { EXPIRES_AT, VERSION_ID } from "./examples.ts";
import { instant } from "./instant.ts";
import { destination } from "./link-fields.ts";
import { plainText, trimInvisible } from "./text.ts";

/** Most versions of a split, and characters of a version's id and of its label. */
const VERSIONS_MAX = 10;
const ID_LENGTH_MAX = 40;
export const LABEL_LENGTH_MAX = 60;

const LABEL_EXAMPLE = "New page";

/** What looks alike is one label. */
const label = plainText(LABEL_LENGTH_MAX)
  .overwrite((text) => trimInvisible(text).normalize("NFC"))
  .min(1)
  // Composed letters may be more than before.
  .max(LABEL_LENGTH_MAX);

const weight = z
  .int()
  .min(1)
  .max(99)
  .meta({ description: "Percentage of the visitors.", examples: [30] });

const version = z
  .strictObject({
    id: z
      .string()
      .max(ID_LENGTH_MAX)
      .optional()
      .meta({
        description:
          "The id of a version that the link has, to keep its statistics; a new version gets an id.",
        examples: [VERSION_ID],
      }),
    label: label.nullish().meta({
      description: "What the version is called in statistics, unique in the split; null for none.",
      examples: [LABEL_EXAMPLE],
    }),
    url: destination,
    weight,
  })
  .meta({
    id: "NewLinkVersion",
    description: "A version to set: a share of the visitors, and its destination.",
  });

const until = instant.nullish().meta({
  description: "From then on, all visitors get the link's own destination; null for no end.",
  examples: [EXPIRES_AT],
});

const versionsMeta = {
  description: "The versions; their weights add up to 100 at most.",
};

/** The split of a request. */
export const splitField = z
  .strictObject({
    versions: z
      .array(version)
      .min(1)
      .max(VERSIONS_MAX)
      .refine(
        (versions) => versions.reduce((sum, one) => sum + one.weight, 0) <= 100,
        "expected weights whose sum is 100 at most",
      )
      .refine((versions) => {
        const labels = versions.flatMap(({ label }) => label ?? []);
        return new Set(labels).size === labels.length;
      }, "expected labels of which no two are alike")
      .meta(versionsMeta),
    until,
  })
  .meta({
    id: "NewLinkSplit",
    description: "A split to set: other destinations for shares of the visitors.",
  });

/** The split of a response. */
export const splitResponse = z
  .object({
    versions: z
      .array(
        z
          .object({
            id: z.string().meta({
              description: "The version's id, by which its clicks are counted.",
              examples: [VERSION_ID],
            }),
            label: z
              .string()
              .optional()
              .meta({
                description: "What the version is called; absent when it has no label.",
                examples: [LABEL_EXAMPLE],
              }),
            url: destination,
            weight,
          })
          .meta({
            id: "LinkVersion",
            description: "A version: a share of the visitors, and its destination.",
          }),
      )
      .meta(versionsMeta),
    until: z.iso
      .datetime()
      .nullable()
      .meta({
        description: "From then on, all visitors get the link's own destination; null for no end.",
        examples: [EXPIRES_AT],
      }),
  })
  .meta({ id: "LinkSplit", description: "Other destinations for shares of the visitors." });
