/**
 * Schemas of a link's further settings, as requests set them and as the API stores and returns
 * them.
 */
import * as z from "zod";

import { component, strictComponent } from "./components.ts";
import { ARM_ID, EXPIRES_AT } from "./examples.ts";
import { destination } from "./link-fields.ts";
import { rulesField, rulesResponse } from "./link-rules.ts";
import { REDIRECT_STATUSES } from "./redirect-status.ts";
import { instant, plainText } from "./text-schemas.ts";
import { trimInvisible } from "./text.ts";
import { URL_LENGTH_MAX } from "./web-url.ts";

/** Maximum arms of a split, and characters of an arm's id and of its label. */
const ARMS_MAX = 10;
const ID_LENGTH_MAX = 40;
export const LABEL_LENGTH_MAX = 60;

const LABEL_EXAMPLE = "New page";

/** Labels that look alike are one label. */
const label = plainText(LABEL_LENGTH_MAX).overwrite(trimInvisible).min(1);

const weight = z
  .int()
  .min(1)
  .max(99)
  .meta({ description: "Percentage of the visitors.", examples: [30] });

const arm = strictComponent(
  "NewLinkArm",
  "An arm to set: a share of the visitors, and its destination.",
  {
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
  },
);

const until = instant.nullish().meta({
  description: "From then on, all visitors get the link's own destination; null for no end.",
  examples: [EXPIRES_AT],
});

const armsMeta = {
  description: "The arms; their weights add up to 100 at most.",
};

/** The split of a request. */
export const splitField = strictComponent(
  "NewLinkSplit",
  "A split to set: other destinations for shares of the visitors.",
  {
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
  },
);

const splitResponse = component("LinkSplit", "Other destinations for shares of the visitors.", {
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
});

/** Maximum characters of a card's title and description. Agents show some 70 and 200 of them. */
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

const previewField = strictComponent("NewLinkPreview", "The card of a link to set.", {
  title,
  description: description.nullish().meta(descriptionMeta),
  image: image.nullish().meta(imageMeta),
});

const previewResponse = component("LinkPreview", "The card that link-preview agents get.", {
  title,
  description: description.nullable().meta(descriptionMeta),
  image: image.nullable().meta(imageMeta),
});

/** Whether a path beyond the alias is forwarded. */
const forwardPath = z.enum(["append", "ignore"]);

/** The status of a redirect, of a link or of a domain. */
export const redirectStatus = z.literal(REDIRECT_STATUSES);

/** Maximum clicks of a limit. */
const MAX_CLICKS = 1_000_000_000;

const SETTINGS = {
  starts_at: {
    description: "Until then, the link responds as if it did not exist.",
    examples: ["2030-01-01T08:00:00Z"],
  },
  disabled: { description: "The link responds as if it did not exist.", examples: [true] },
  archived: {
    description: "Lists omit the link unless `archived` includes it; it redirects as before.",
    examples: [true],
  },
  expired_url: {
    description: "Where visitors are redirected once the link has expired or its limit is reached.",
    examples: ["https://example.com/over"],
  },
  rules: {
    description:
      "Other destinations for some visitors: the first rule whose conditions all match decides.",
  },
  split: {
    description:
      "Other destinations for shares of the visitors whom no rule matches; the rest gets the link's own. A visitor always gets the same.",
  },
  preview: {
    description:
      "The card that link-preview agents of chats and social networks get instead of the redirect.",
  },
  forward_path: {
    description:
      "What happens to a path after the alias: `append` adds it to the destination's path, `ignore` drops it. Without this setting, such a path is an error page (404).",
    examples: ["append"],
  },
  redirect_status: {
    description:
      "The status of the redirect: 302, or 301, 307 or 308. Without this setting, it is the domain's. Browsers are told to keep none of them, so that each visit is counted; what ignores that, or a search engine, may go on to the destination of a 301 or 308 by itself.",
    examples: [301],
  },
  max_clicks: {
    description:
      "The maximum number of redirects, exact over all redirectors, also through crashes, unless NATS forgets what it has acknowledged while a redirector that used these clicks is away. Earlier clicks are included.",
    examples: [100],
  },
  limit_counts: {
    description:
      "Which requests use up the limit: only people's (`human`, unless a new limit says otherwise), so that bots get a page with a button, never the destination; or each that is redirected (`all`).",
    examples: ["human"],
  },
  confirm: {
    description:
      "A page with a button comes first, so that programs that follow links neither use up the limit nor count as clicks.",
    examples: [true],
  },
} satisfies Record<string, { description: string; examples?: unknown[] }>;

/**
 * A setting that is on or off. Null is off: programs send it for each field that they do not set,
 * and it removes any other setting.
 */
export const settingFlag = (meta: { description: string; examples: boolean[] }) =>
  z
    .boolean()
    .nullable()
    // Before the transformation, because the input is documented.
    .meta(meta)
    .transform((isOn) => isOn ?? false)
    .optional();

/** A setting in a request, which can also switch it off. */
const inRequest = (name: keyof typeof SETTINGS, note: string) => ({
  ...SETTINGS[name],
  description: `${SETTINGS[name].description} ${note}`,
});

/** Fields of a request; each replaces the whole setting, and null (or false) switches it off. */
export const settingsFields = {
  starts_at: instant.nullish().meta(inRequest("starts_at", "Null removes it.")),
  disabled: settingFlag(SETTINGS.disabled),
  archived: settingFlag(SETTINGS.archived),
  expired_url: destination.nullish().meta(inRequest("expired_url", "Null for an error page.")),
  rules: rulesField.nullish().meta({
    ...inRequest(
      "rules",
      "They replace all previous rules; null or an empty list for none. All conditions together have up to 1,000 values.",
    ),
    examples: [
      [{ url: "https://apps.apple.com/app/id1", conditions: [{ type: "os", in: ["iOS"] }] }],
    ],
  }),
  split: splitField.nullish().meta({
    ...inRequest("split", "Null for none."),
    examples: [{ arms: [{ url: "https://example.com/b", weight: 30 }], until: null }],
  }),
  preview: previewField.nullish().meta({
    ...inRequest("preview", "Null for the destination's own. Not for links with a password."),
    examples: [{ title: "Spring sale", image: "https://example.com/spring.png" }],
  }),
  forward_path: forwardPath.nullish().meta(inRequest("forward_path", "Null removes it.")),
  redirect_status: redirectStatus
    .nullish()
    .meta(inRequest("redirect_status", "Null for the domain's.")),
  max_clicks: z
    .int()
    .min(1)
    .max(MAX_CLICKS)
    .nullish()
    .meta(inRequest("max_clicks", "Null for no limit.")),
  limit_counts: z
    .enum(["all", "human"])
    .nullable()
    // Before the transformation, because the input is documented.
    .meta(inRequest("limit_counts", "Null is as if it was not sent."))
    .transform((counted) => counted ?? undefined)
    .optional(),
  confirm: settingFlag(SETTINGS.confirm),
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
  status: z
    .enum(LINK_STATUSES)
    .meta({ description: "The link's status for visitors; only an operator lifts `taken_down`." }),
  starts_at: z.iso.datetime().optional().meta(SETTINGS.starts_at),
  disabled: z.literal(true).optional().meta(SETTINGS.disabled),
  archived: z.literal(true).optional().meta(SETTINGS.archived),
  expired_url: destination.optional().meta(SETTINGS.expired_url),
  rules: rulesResponse.optional().meta(SETTINGS.rules),
  split: splitResponse.optional().meta(SETTINGS.split),
  preview: previewResponse.optional().meta(SETTINGS.preview),
  forward_path: forwardPath.optional().meta(SETTINGS.forward_path),
  redirect_status: redirectStatus.optional().meta(SETTINGS.redirect_status),
  max_clicks: z.int().optional().meta(SETTINGS.max_clicks),
  clicks_left: z
    .int()
    .optional()
    .meta({ description: "How many redirects the limit still allows.", examples: [37] }),
  limit_counts: z.literal("human").optional().meta(SETTINGS.limit_counts),
  confirm: z.literal(true).optional().meta(SETTINGS.confirm),
};
