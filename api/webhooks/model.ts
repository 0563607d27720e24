/** Responses about webhooks and their deliveries, and the rows they come from. */
import * as z from "zod";

import { component } from "../../shared/contracts/components.ts";
import {
  CREATED_AT,
  DELIVERY_ID,
  EVENT_ID,
  EXPIRES_AT,
  WEBHOOK_ID,
} from "../../shared/contracts/examples.ts";
import {
  DELIVERY_ERROR_CODES,
  type DeliveryErrorCode,
  type newWebhookBody,
  type updateWebhookBody,
  WEBHOOK_FORMATS,
  WEBHOOK_META,
  type WebhookFormat,
} from "../../shared/contracts/webhook-schemas.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import {
  choice,
  count,
  countOrNull,
  createdAt,
  idInPath,
  instantOrNull,
  text,
  textOrNull,
  updatedAt,
} from "../http/common-schemas.ts";
import { listOf, listQuery } from "../http/pagination.ts";

export type CreateWebhookBody = z.output<typeof newWebhookBody>;

export type UpdateWebhookBody = z.output<typeof updateWebhookBody>;

export const webhookParams = z.object({ id: idInPath("wh", "The webhook's id.", WEBHOOK_ID) });

export const deliveryParams = webhookParams.extend({
  delivery: idInPath("dlv", "The delivery's id.", DELIVERY_ID),
});

const names = z.array(z.string()).nullable();

export const webhookResponse = component("Webhook", "Where events are delivered to.", {
  id: text("The webhook's id.", WEBHOOK_ID),
  url: z.string().meta(WEBHOOK_META.url),
  events: z.array(z.string()).meta(WEBHOOK_META.events),
  link_ids: names.meta(WEBHOOK_META.link_ids),
  tags: names.meta(WEBHOOK_META.tags),
  domains: names.meta(WEBHOOK_META.domains),
  description: z.string().nullable().meta(WEBHOOK_META.description),
  format: z.enum(WEBHOOK_FORMATS).meta(WEBHOOK_META.format),
  status: choice(
    "`active`; `paused` by its owner; or `disabled` because of its receiver.",
    ["active", "paused", "disabled"],
    "active",
  ),
  disabled_reason: z
    .enum(["gone", "failing"])
    .nullable()
    .meta({
      description:
        "Why it was disabled: `gone` when the receiver responded 410, `failing` after five days of nothing but failure; else null.",
      examples: [null],
    }),
  failing_since: instantOrNull(
    "Since when every attempt has failed; null when the last one was successful.",
    null,
  ),
  old_secret_expires_at: instantOrNull(
    "Until when the secret before the current one signs as well; null for none.",
    EXPIRES_AT,
  ),
  created_at: createdAt,
  updated_at: updatedAt,
});

export const newWebhookResponse = webhookResponse
  .extend({
    secret: text(
      "The key of the signatures. Only this response contains it: store it now, where the receiver finds it.",
      "whsec_MfKQ9r8G…",
    ),
  })
  .meta({ id: "WebhookWithSecret", description: "A webhook with its new secret." });

export const webhookListResponse = listOf("WebhookList", "A page of webhooks.", webhookResponse);

export const deliveryListQuery = listQuery.extend({
  status: choice(
    "Only deliveries with this status.",
    ["pending", "delivered", "failed"],
    "failed",
  ).optional(),
});

export const deliveryResponse = component(
  "WebhookDelivery",
  "An event for a webhook, and what came of it.",
  {
    id: text("The delivery's id.", DELIVERY_ID),
    event_id: text("The event's id, which the receiver gets as `webhook-id`.", EVENT_ID),
    event_type: text("The event's type.", "link.created"),
    status: choice(
      "`pending` until a receiver has responded 2xx, or no attempt is left.",
      ["pending", "delivered", "failed"],
      "delivered",
    ),
    attempts: count("How many attempts were made.", 1),
    next_attempt_at: instantOrNull("When the next attempt is due; null unless `pending`.", null),
    last_attempt_at: instantOrNull(
      "When the last attempt began; null before the first.",
      CREATED_AT,
    ),
    latency_ms: countOrNull("How many milliseconds the last attempt took.", 84),
    response_status: countOrNull("The status of the last response.", 200),
    response_body: textOrNull("The first KiB of the last response's body.", "ok"),
    error_code: z
      .enum(DELIVERY_ERROR_CODES)
      .nullable()
      .meta({
        description: "Why the last attempt got no response, for programs.",
        examples: [null],
      }),
    error: textOrNull("The same for people, such as `Port 25 may not be used.`", null),
    created_at: createdAt,
  },
);

export const deliveryListResponse = listOf(
  "WebhookDeliveryList",
  "A page of deliveries.",
  deliveryResponse,
);

/** The fields of a webhook that its owner decides. */
export type WebhookFields = {
  url: string;
  events: readonly string[];
  link_ids: readonly Uuid[] | null;
  tags: readonly string[] | null;
  domains: readonly string[] | null;
  description: string | null;
  format: WebhookFormat;
};

/** A webhook as PostgreSQL stores it. */
export type WebhookRow = WebhookFields & {
  id: Uuid;
  status: "active" | "paused" | "disabled";
  disabled_reason: "gone" | "failing" | null;
  failing_since: Date | null;
  /** Null when the old secret has expired. */
  old_until: Date | null;
  created_at: Date;
  updated_at: Date;
};

export const toWebhookResponse = (row: WebhookRow): z.output<typeof webhookResponse> => ({
  id: encodeId("wh", row.id),
  url: row.url,
  events: [...row.events],
  link_ids: row.link_ids?.map((id) => encodeId("link", id)) ?? null,
  tags: toArray(row.tags),
  domains: toArray(row.domains),
  description: row.description,
  format: row.format,
  status: row.status,
  disabled_reason: row.disabled_reason,
  failing_since: row.failing_since?.toISOString() ?? null,
  old_secret_expires_at: row.old_until?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
});

const toArray = (list: readonly string[] | null): string[] | null =>
  list === null ? null : [...list];

/** A delivery as PostgreSQL stores it. */
export type DeliveryRow = {
  id: Uuid;
  event_id: Uuid;
  event_type: string;
  status: "pending" | "delivered" | "failed";
  attempts: number;
  next_attempt_at: Date | null;
  last_attempt_at: Date | null;
  latency_ms: number | null;
  response_status: number | null;
  response_body: string | null;
  error_code: DeliveryErrorCode | null;
  error: string | null;
  created_at: Date;
};

export const toDeliveryResponse = (row: DeliveryRow): z.output<typeof deliveryResponse> => ({
  ...row,
  id: encodeId("dlv", row.id),
  event_id: encodeId("event", row.event_id),
  next_attempt_at: row.next_attempt_at?.toISOString() ?? null,
  last_attempt_at: row.last_attempt_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
});
