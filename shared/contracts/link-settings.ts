/** Schemas of a link's further settings, as requests set them and as the API stores and returns them. */
import * as z from "zod";

import { instant } from "./instant.ts";
import { destination } from "./link-fields.ts";
import { previewField, previewResponse } from "./link-preview.ts";
import { rulesField, rulesResponse } from "./link-rules.ts";
import { splitField, splitResponse } from "./link-split.ts";

/** Whether a path beyond the alias is forwarded. */
const forwardPath = z.enum(["append", "ignore"]);
/** Most clicks of a limit. */
const MAX_CLICKS = 1_000_000_000;

const EXPIRED_URL_EXAMPLES = ["https://example.com/over"];

/** Fields of a request; each replaces the whole setting, and null (or false) switches it off. */
export const settingsFields = {
  starts_at: instant.nullish().meta({
    description: "Until then the link answers as if it did not exist; null for at once.",
    examples: ["2030-01-01T08:00:00Z"],
  }),
  disabled: z
    .boolean()
    .optional()
    .meta({ description: "Whether the link answers as if it did not exist.", examples: [true] }),
  archived: z
    .boolean()
    .optional()
    .meta({
      description: "Whether lists leave the link out unless asked; it redirects as before.",
      examples: [true],
    }),
  expired_url: destination.nullish().meta({
    description:
      "Where visitors are redirected once the link has expired or its limit is reached; null for an error page.",
    examples: EXPIRED_URL_EXAMPLES,
  }),
  rules: rulesField.nullish().meta({
    description:
      "Other destinations for some visitors: the first rule whose conditions all match decides. They replace all previous rules; null or an empty list for none. All conditions together have up to 1,000 values.",
    examples: [
      [
        {
          url: "https://apps.apple.com/app/id1",
          conditions: [{ type: "os", in: ["iOS"] }],
        },
      ],
    ],
  }),
  split: splitField.nullish().meta({
    description:
      "Other destinations for shares of the visitors whom no rule matches; the rest gets the link's own. A visitor always gets the same. Null for none.",
    examples: [{ arms: [{ url: "https://example.com/b", weight: 30 }], until: null }],
  }),
  preview: previewField.nullish().meta({
    description:
      "The card that link-preview agents of chats and social networks get instead of the redirect; null for the destination's own. Not for links with a password.",
    examples: [{ title: "Spring sale", image: "https://example.com/spring.png" }],
  }),
  forward_path: forwardPath.nullish().meta({
    description:
      "What becomes of a path beyond the alias: `append` puts it at the end of the destination's path, `ignore` leaves it out; null for an error page (404).",
    examples: ["append"],
  }),
  max_clicks: z
    .int()
    .min(1)
    .max(MAX_CLICKS)
    .nullish()
    .meta({
      description:
        "How often the link leads on, exactly and over all redirectors; clicks that were counted before are among them. Null for no limit.",
      examples: [100],
    }),
  limit_counts: z
    .enum(["all", "human"])
    .optional()
    .meta({
      description:
        "What spends a click of the limit: each request that is led on, or only people; then bots get a page with a button, never the destination.",
      examples: ["human"],
    }),
  confirm: z
    .boolean()
    .optional()
    .meta({
      description:
        "Whether a page with a button comes first, so that programs which follow links spend and count nothing.",
      examples: [true],
    }),
};

/** The status of a link for its visitors. */
const LINK_STATUSES = [
  "active",
  "scheduled",
  "disabled",
  "expired",
  "limit_reached",
  "taken_down",
] as const;

/** Fields of a response; a setting that is off is absent. `status` is always there. */
export const settingsResponse = {
  status: z.enum(LINK_STATUSES).meta({ description: "What the link is for visitors now." }),
  starts_at: z.iso
    .datetime()
    .optional()
    .meta({
      description: "Until then the link answers as if it did not exist.",
      examples: ["2030-01-01T08:00:00Z"],
    }),
  disabled: z
    .literal(true)
    .optional()
    .meta({ description: "The link answers as if it did not exist." }),
  archived: z
    .literal(true)
    .optional()
    .meta({ description: "Lists leave the link out unless asked; it redirects as before." }),
  expired_url: destination.optional().meta({
    description: "Where visitors are redirected once the link has expired or its limit is reached.",
    examples: EXPIRED_URL_EXAMPLES,
  }),
  rules: rulesResponse.optional().meta({
    description: "Other destinations for some visitors: the first rule that matches decides.",
  }),
  split: splitResponse.optional().meta({
    description: "Other destinations for shares of the visitors whom no rule matches.",
  }),
  preview: previewResponse.optional().meta({
    description: "The card that link-preview agents get instead of the redirect.",
  }),
  forward_path: forwardPath.optional().meta({
    description: "What becomes of a path beyond the alias; without it there is nothing.",
  }),
  max_clicks: z
    .int()
    .optional()
    .meta({
      description:
        "How often the link leads on, over all redirectors, never more: also through crashes, unless NATS forgets what it had acknowledged while a redirector that used these clicks is away.",
      examples: [100],
    }),
  clicks_left: z
    .int()
    .optional()
    .meta({ description: "How often it will still lead on.", examples: [37] }),
  limit_counts: z.literal("human").optional().meta({
    description: "Whether only people spend clicks of the limit; others get a page with a button.",
  }),
  confirm: z
    .literal(true)
    .optional()
    .meta({ description: "A page with a button comes before the destination." }),
};
