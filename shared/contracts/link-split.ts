/** Schemas of splits, as requests set them and as the API returns them. */
import * as z from "zod";

import { instant } from "./instant.ts";

/** Most arms of a split, and characters of an arm's id. */
const ARMS_MAX = 10;
const ID_LENGTH_MAX = 40;

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
      .meta({ description: "Keeps the arm's figures when it changes; a new arm gets an id." }),
    url: z.string().meta({ examples: ["https://example.com/b"] }),
    weight,
  })
  .meta({ id: "NewLinkArm" });

const until = instant.nullish().meta({
  description: "From then on everybody gets the link's own destination; null for no end.",
});

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
      ),
    until,
  })
  .meta({ id: "NewLinkSplit" });

/** The split of a response. */
export const splitResponse = z
  .object({
    arms: z.array(
      z
        .object({
          id: z.string().meta({ examples: ["arm_01k9z3v6x7e8w9r0t1y2u3i4o5"] }),
          url: z.string(),
          weight,
        })
        .meta({ id: "LinkArm" }),
    ),
    until: z.iso.datetime().nullable(),
  })
  .meta({ id: "LinkSplit" });
