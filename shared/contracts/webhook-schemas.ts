/** Schemas of requests about webhooks, shared by the API and the dashboard's forms. */
import * as z from "zod";

import { toAsciiHost } from "./ascii-host.ts";
import { EVENT_TYPE_NAMES } from "./event-types.ts";
import { CUSTOM_DOMAIN, EVENT_ID, LINK_ID } from "./examples.ts";
import { tag } from "./link-schemas.ts";
import { plainText, trimInvisible } from "./text.ts";

/** Most types of events, links, tags or domains that a webhook can name. */
const WEBHOOK_NAMES_MAX = 100;

const URL_LENGTH_MAX = 2_048;
const DESCRIPTION_LENGTH_MAX = 255;
const HOST_LENGTH_MAX = 253;
const ID_LENGTH_MAX = 40;

/** In place of all types of events, also later ones. */
export const ALL_EVENTS = "*";

const WEBHOOK_EVENTS = [ALL_EVENTS, ...EVENT_TYPE_NAMES] as const;

const eventType = z.enum(WEBHOOK_EVENTS, {
  error: `must be one of ${WEBHOOK_EVENTS.join(", ")}`,
});

/** How events are written: as they are, or as messages for incoming webhooks of a chat. */
export const WEBHOOK_FORMATS = ["standard", "slack", "discord"] as const;

export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number];

const names = <Item extends z.ZodType>(item: Item) =>
  z.array(item).min(1).max(WEBHOOK_NAMES_MAX).nullish();

/** Descriptions of fields that requests and responses have. */
export const WEBHOOK_META = {
  url: {
    description: "Where events are posted to: an http or https URL.",
    examples: ["https://hooks.example.com/shorthop"],
  },
  events: {
    description: "The types of events to deliver; `*` for all, also later ones.",
    examples: [["link.created", "clicks.recorded"]],
  },
  link_ids: {
    description: "Of events about links, only those about one of these; null for all links.",
    examples: [[LINK_ID]],
  },
  tags: {
    description: "Of events about links, only those about a link with one of these tags.",
    examples: [["spring"]],
  },
  domains: {
    description: "Of events about links, only those about a link on one of these hosts.",
    examples: [[CUSTOM_DOMAIN]],
  },
  description: { description: "A note for people.", examples: ["Orders in the shop"] },
  format: {
    description:
      "`standard` for events as JSON; `slack` or `discord` for messages that incoming webhooks of these chats accept.",
    examples: ["standard"],
  },
};

const fields = {
  url: z.string().overwrite(trimInvisible).max(URL_LENGTH_MAX).meta(WEBHOOK_META.url),
  events: z.array(eventType).min(1).max(WEBHOOK_NAMES_MAX).meta(WEBHOOK_META.events),
  link_ids: names(z.string().max(ID_LENGTH_MAX)).meta(WEBHOOK_META.link_ids),
  tags: names(tag).meta(WEBHOOK_META.tags),
  domains: names(plainText(HOST_LENGTH_MAX).overwrite(toAsciiHost).min(1)).meta(
    WEBHOOK_META.domains,
  ),
  description: plainText(DESCRIPTION_LENGTH_MAX).nullish().meta(WEBHOOK_META.description),
  format: z
    .enum(WEBHOOK_FORMATS)
    .optional()
    .meta({
      ...WEBHOOK_META.format,
      description: `${WEBHOOK_META.format.description} \`standard\` when it is created without.`,
    }),
};

export const createWebhookBody = z
  .strictObject(fields)
  .meta({ id: "NewWebhook", description: "A webhook to create." });

export const updateWebhookBody = z
  .strictObject({
    ...fields,
    url: fields.url.optional(),
    events: fields.events.optional(),
    status: z
      .enum(["active", "paused"])
      .optional()
      .meta({
        description:
          "`paused` to deliver nothing for now; `active` to continue, also after the webhook was disabled. Events meanwhile are delivered then.",
        examples: ["paused"],
      }),
  })
  .meta({
    id: "WebhookChange",
    description:
      "The fields of a webhook to change. Omitted fields keep their value; null removes a value.",
  });

export const replayBody = z
  .strictObject({
    starting_after: z
      .string()
      .max(ID_LENGTH_MAX)
      .meta({
        description: "The id of the event after which delivery begins again.",
        examples: [EVENT_ID],
      }),
  })
  .meta({ id: "Replay", description: "Which events to deliver again." });
