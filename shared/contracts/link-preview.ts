/** Schemas of previews, as requests set them and as the API returns them. */
import * as z from "zod";

import { plainText, trimInvisible } from "./text.ts";
import { URL_LENGTH_MAX } from "./web-url.ts";

/** Most characters of a card's title and description. Agents show some 70 and 200 of them. */
const TITLE_LENGTH_MAX = 255;
const DESCRIPTION_LENGTH_MAX = 1_000;

const title = plainText(TITLE_LENGTH_MAX)
  .trim()
  .min(1)
  .meta({
    description: "The card's title, which the page about the link (`/alias+`) shows too.",
    examples: ["Spring sale"],
  });

const description = plainText(DESCRIPTION_LENGTH_MAX).trim().min(1);

const image = z.string().overwrite(trimInvisible).max(URL_LENGTH_MAX);

const imageMeta = {
  description: "The URL of its image: https, and fetched by the agents themselves.",
  examples: ["https://example.com/spring.png"],
};

const descriptionMeta = {
  description: "The text below the title.",
  examples: ["Everything must go."],
};

/** The preview of a request. */
export const previewField = z
  .strictObject({
    title,
    description: description.nullish().meta(descriptionMeta),
    image: image.nullish().meta(imageMeta),
  })
  .meta({ id: "NewLinkPreview", description: "The card of a link to set." });

/** The preview of a response. */
export const previewResponse = z
  .object({
    title,
    description: description.nullable().meta(descriptionMeta),
    image: image.nullable().meta(imageMeta),
  })
  .meta({ id: "LinkPreview", description: "The card that link-preview agents get." });
