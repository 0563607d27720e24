/** Schemas of requests about webhooks, shared by the API and the dashboard's forms. */
import * as z from "zod";

import { strictComponent } from "./components.ts";
import { CUSTOM_DOMAIN, EVENT_ID, LINK_ID } from "./examples.ts";
import { toAsciiHost } from "./host-names.ts";
import { tag } from "./link-schemas.ts";
import { plainText } from "./text-schemas.ts";
import { trimInvisible } from "./text.ts";

const EVENT_TYPES = {
  "link.created": "A link was created.",
  "link.updated": "Fields of a link changed; `changes` has each before and after.",
  "link.deleted": "A link was deleted; `link` is what it was.",
  "link.expired": "The `expires_at` of a link passed.",
  "link.limit_reached": "A link has redirected as often as its `max_clicks` allow.",
  "link.taken_down": "The operator took a link down.",
  "link.restored": "The operator lifted the takedown of a link.",
  "account.taken_down": "The operator took down all links of the account.",
  "account.restored": "The operator lifted the takedown of the account.",
  "clicks.recorded": "Clicks by people were stored: at most 500 of them.",
  "clicks.left_out": "More clicks were stored than the account gets events of in a day.",
  "domain.created": "A domain was added.",
  "domain.verified": "The proof of a domain was found: links can use it.",
  "domain.updated": "Settings of a domain changed; `changes` has each before and after.",
  "domain.displaced":
    "A domain is no longer verified: its proof was missing and another account verified it, or the operator released it.",
  "domain.deleted": "A domain was deleted.",
  "key.created": "An API key was created.",
  "key.rotated": "An API key was replaced by a new one; `replaces` is the old one.",
  "key.revoked": "An API key was revoked.",
  "member.joined": "A user became a member of the account.",
  "member.updated": "The role of a member changed.",
  "member.removed": "A user is no longer a member of the account.",
  "member.reset_link_created": "Somebody made a link with which a member sets a new password.",
  "share.created": "Statistics were shared.",
  "share.updated": "A share changed; `changes` has each field before and after.",
  "share.revoked": "A share was revoked.",
  "report.ready": "A report was made of a period that is over.",
  "webhook.disabled":
    "A webhook was disabled because its receiver is gone, or failed for five days.",
  "webhook.test": "Somebody tests a webhook, which alone receives it.",
} as const;

export type EventType = keyof typeof EVENT_TYPES;

// Object.keys loses the type of the keys; the table has no others.
export const EVENT_TYPE_NAMES = Object.keys(EVENT_TYPES) as [EventType, ...EventType[]];

/** Why an attempt to deliver got no response, and the message that says so. */
export const DELIVERY_ERRORS = {
  port_not_allowed: "The port may not be used.",
  host_not_found: "The host name does not resolve.",
  address_not_public: "The host leads to an address that is not public.",
  connection_refused: "The connection was refused.",
  connection_closed: "The connection was closed without a response.",
  connection_failed: "The connection failed.",
  certificate_invalid: "The certificate is not valid.",
  timeout: "No response in time.",
  response_invalid: "The response is not HTTP/1.1.",
  event_deleted: "The event is no longer kept.",
} as const;

export type DeliveryErrorCode = keyof typeof DELIVERY_ERRORS;

// Object.keys loses the type of the keys; the table has no others.
export const DELIVERY_ERROR_CODES = Object.keys(DELIVERY_ERRORS) as [
  DeliveryErrorCode,
  ...DeliveryErrorCode[],
];

/** Maximum types of events, links, tags or domains that a webhook can name. */
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

export const newWebhookBody = strictComponent("NewWebhook", "A webhook to create.", fields);

export const updateWebhookBody = strictComponent(
  "WebhookChange",
  "The fields of a webhook to change. Omitted fields keep their value; null removes a value.",
  {
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
  },
);

export const replayBody = strictComponent("Replay", "Which events to deliver again.", {
  starting_after: z
    .string()
    .max(ID_LENGTH_MAX)
    .meta({
      description: "The id of the event after which delivery begins again.",
      examples: [EVENT_ID],
    }),
});

/**
 * Entries of the ledger that only who has the scope `audit:read` sees, and that no webhook gets:
 * who signed in, and what concerns how an account is run. Each with what it records.
 */
const AUDIT_TYPES = {
  "session.started": "A member signed in.",
  "session.refused": "A sign-in as a member was refused.",
  "session.ended": "A member signed out, here or everywhere.",
  "user.created": "The operator created a user.",
  "user.password_changed": "The password of a member was changed.",
  "user.second_factor_changed": "A member set up a second factor, removed it, or made other codes.",
  "member.invited": "Somebody was invited to the account.",
  "member.invitation_withdrawn": "An invitation was withdrawn.",
  "account.created": "The operator created the account.",
  "account.updated": "The operator changed the account's plan, or suspended it.",
  "branding.updated": "The branding was changed.",
  "tag.updated": "The colour of a tag was changed.",
  "view.saved": "A view, filter or template was saved.",
  "view.deleted": "A view, filter or template was deleted.",
  "clicks.exported": "Single clicks were exported.",
  "webhook.created": "A webhook was created.",
  "webhook.updated": "A webhook was changed.",
  "webhook.rotated": "A webhook got another secret.",
  "webhook.replayed": "Events are delivered to a webhook again.",
  "webhook.deleted": "A webhook was deleted.",
  "report.created": "A report was created.",
  "report.updated": "A report was changed.",
  "report.deleted": "A report was deleted.",
  "report.unsubscribed": "A recipient of a report unsubscribed.",
  "operator.command": "The operator ran a command.",
} as const;

export type AuditType = keyof typeof AUDIT_TYPES;

/** The type of an entry of the ledger. */
export type LedgerType = EventType | AuditType;

// Object.keys loses the type of the keys; the table has no others.
export const AUDIT_TYPE_NAMES = Object.keys(AUDIT_TYPES) as [AuditType, ...AuditType[]];

export const isAuditType = (type: string): boolean => Object.hasOwn(AUDIT_TYPES, type);
