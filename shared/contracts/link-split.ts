/** Schemas of splits, as requests set them and as the API returns them. */
import * as z from "zod";

import { ARM_ID, EXPIRES_AT } from "./examples.ts";
import { destination } from "./link-fields.ts";
import { instant, plainText, trimInvisible } from "./text.ts";

/** Most arms of a split, and characters of an arm's id and of its label. */
const ARMS_MAX = 10;
const ID_LENGTH_MAX = 40;
export const LABEL_LENGTH_MAX = 60;

const LABEL_EXAMPLE = "New page";

/** Labels that look alike are one label. */
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

const arm = z
  .strictObject({
    id: z
      .string()
      .max(ID_LENGTH_MAX)
      .optional()
      .meta({
        description:
          "The id of an arm that the link has, to keep its statistics; a new arm gets an id.",
        examples: [ARM_ID],
      }),
    label: label.nullish().meta({
      description: "What the arm is called in statistics, unique in the split; null for none.",
      examples: [LABEL_EXAMPLE],
    }),
    url: destination,
    weight,
  })
  .meta({
    id: "NewLinkArm",
    description: "An arm to set: a share of the visitors, and its destination.",
  });

const until = instant.nullish().meta({
  description: "From then on, all visitors get the link's own destination; null for no end.",
  examples: [EXPIRES_AT],
});

const armsMeta = {
  description: "The arms; their weights add up to 100 at most.",
};

/** The split of a request. */
export const splitField = z
  .strictObject({
    arms: z
      .array(arm)
      .min(1)
      .max(ARMS_MAX)
      .refine(
        (arms) => arms.reduce((sum, one) => sum + one.weight, 0) <= 100,
        "expected weights whose sum is 100 at most",
      )
      .refine((arms) => {
        const labels = arms.flatMap(({ label }) => label ?? []);
        return new Set(labels).size === labels.length;
      }, "expected labels of which no two are alike")
      .meta(armsMeta),
    until,
  })
  .meta({
    id: "NewLinkSplit",
    description: "A split to set: other destinations for shares of the visitors.",
  });

/** The split of a response. */
export const splitResponse = z
  .object({
    arms: z
      .array(
        z
          .object({
            id: z.string().meta({
              description: "The arm's id, by which its clicks are counted.",
              examples: [ARM_ID],
            }),
            label: z
              .string()
              .optional()
              .meta({
                description: "What the arm is called; absent when it has no label.",
                examples: [LABEL_EXAMPLE],
              }),
            url: destination,
            weight,
          })
          .meta({
            id: "LinkArm",
            description: "An arm: a share of the visitors, and its destination.",
          }),
      )
      .meta(armsMeta),
    until: z.iso
      .datetime()
      .nullable()
      .meta({
        description: "From then on, all visitors get the link's own destination; null for no end.",
        examples: [EXPIRES_AT],
      }),
  })
  .meta({ id: "LinkSplit", description: "Other destinations for shares of the visitors." });
