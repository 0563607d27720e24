/**
 * Fields that several schemas of links share, in requests and responses, and their descriptions.
 */
import * as z from "zod";

import { LONG_URL, RULE_ID } from "./examples.ts";
import type { UtmName } from "./query-string.ts";
import { trimInvisible } from "./text.ts";
import { URL_LENGTH_MAX } from "./web-url.ts";

/**
 * A pasted URL. `parseWebUrl` checks it, because the error is `invalid_url`; so the schema only
 * documents the bound.
 */
export const pastedUrl = z.string().overwrite(trimInvisible).meta({ maxLength: URL_LENGTH_MAX });

export const destination = pastedUrl.meta({
  description: "The destination: an absolute http or https URL.",
  examples: [LONG_URL],
});

/** The rule or arm that decides a destination, or the default. */
export const targetFields = {
  kind: z
    .enum(["rule", "arm", "default"])
    .meta({ description: "A rule, an arm of the split, or the link's own destination." }),
  id: z
    .string()
    .nullable()
    .meta({
      description: "The id of the rule or arm; null for the link's own destination.",
      examples: [RULE_ID],
    }),
};

/** Examples of UTM values. */
export const UTM_EXAMPLES = {
  utm_source: "newsletter",
  utm_medium: "email",
  utm_campaign: "spring",
  utm_term: "shoes",
  utm_content: "header",
} as const satisfies Record<UtmName, string>;

export const titleMeta = {
  description:
    "A name for people of the account; visitors do not see it, not even on the page about the link (`/alias+`).",
  examples: ["Spring sale"],
};

export const notesMeta = {
  description:
    "Text for people of the account, of several lines. Visitors never see it, and redirectors do not have it.",
  examples: ["Printed on the flyers of May.\nAsk Kim before changing it."],
};

/** Of tags and of an external id. */
export const TAGS_EXAMPLE = ["spring", "newsletter"];
export const EXTERNAL_ID_EXAMPLE = "order-4711";
