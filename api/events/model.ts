/** Schemas of the feed of events, and the rows they come from. */
import * as z from "zod";

import { component } from "../../shared/contracts/components.ts";
import {
  CREATED_AT,
  EVENT_ID,
  KEY_ID,
  LINK_ID,
  REQUEST_ID,
} from "../../shared/contracts/examples.ts";
import type { Mode } from "../../shared/contracts/link-record.ts";
import { AUDIT_TYPE_NAMES, EVENT_TYPE_NAMES } from "../../shared/contracts/webhook-schemas.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { choice, flag, idParameter, instant, text, wholeNumber } from "../http/common-schemas.ts";
import { cursorParameter, entriesOf, listLimit } from "../http/pagination.ts";
import type { Origin } from "../http/principal.ts";

/** Longest time that a request waits for events, in seconds: shorter than idle connections live. */
const WAIT_SECONDS_MAX = 20;

const ACTOR_ID_LENGTH_MAX = 40;

/** Means the end of the feed in place of a cursor. */
export const LATEST = "latest";

const TYPE_NAMES = [...EVENT_TYPE_NAMES, ...AUDIT_TYPE_NAMES] as const;

const eventType = z.enum(TYPE_NAMES);

export const eventsQuery = z.object({
  starting_after: cursorParameter(
    "The `next_cursor` of the previous response in the same order, or the id of an event; `latest` for events from now on. Without it, the feed begins with the oldest event that is kept; newest first, with the newest.",
  ),
  order: z
    .enum(["asc", "desc"])
    .default("asc")
    .meta({
      description:
        "`asc` for the order in which events happened; `desc` for the newest first, which neither waits nor takes `latest`.",
      examples: ["asc"],
    }),
  type: z
    .union([eventType, z.array(eventType).max(TYPE_NAMES.length)], {
      error: `must be one of ${TYPE_NAMES.join(", ")}`,
    })
    .optional()
    .meta({
      description: "Only events of this type; repeated, of these types.",
      examples: ["link.created"],
    }),
  link_id: idParameter("link", "Only events about this link.", LINK_ID).optional(),
  actor_id: z
    .string()
    .max(ACTOR_ID_LENGTH_MAX)
    .optional()
    .meta({ description: "Only what this key or user caused.", examples: [KEY_ID] }),
  limit: listLimit,
  wait: wholeNumber(0, WAIT_SECONDS_MAX)
    .default(0)
    .meta({
      description: "How many seconds to wait for an event while there is none.",
      examples: [20],
    }),
});

export type EventsQuery = z.output<typeof eventsQuery>;

/** Who causes something, as the ledger stores it. */
export const actorSchema = z.object({
  type: text("`api_key`, `user`, `operator`, or `system` for what happens by itself.", "api_key"),
  id: text("Of the API key or the user.", KEY_ID).optional(),
});

export const eventResponse = component(
  "Event",
  "Something that happened to what an account owns.",
  {
    id: text("The event's id: the same whenever and however often it is delivered.", EVENT_ID),
    type: text(
      "What happened. Types are added: ignore those that you do not know.",
      "link.created",
    ),
    created_at: instant("When it happened.", CREATED_AT),
    mode: choice("The mode of what it is about.", ["live", "test"]),
    data: z.record(z.string(), z.unknown()).meta({
      description:
        "What it is about, under its kind: `link`, `domain`, `key`, `member`, `share`, `account`, `webhook`, `report` or `clicks`; of changes, also the fields in `changes` before and after.",
      examples: [{ link: { id: LINK_ID } }],
    }),
    actor: actorSchema.meta({ description: "Who caused it." }),
    origin: z
      .object({
        network: text("The network of the client: an IPv4 /24, or an IPv6 /48.", "203.0.113.0/24"),
        request_id: text("The `X-Request-Id` of the request.", REQUEST_ID),
      })
      .nullable()
      .optional()
      .meta({
        description:
          "From where it was caused, for callers with the scope `audit:read`; null for what no request caused.",
        examples: [{ network: "203.0.113.0/24", request_id: REQUEST_ID }],
      }),
  },
);

export const eventListResponse = component("EventList", "Events in the order that was asked for.", {
  data: entriesOf(eventResponse),
  has_more: flag(
    "Whether more events may follow at once; newest first, whether older ones may be kept. A page can be empty and have more: each request examines 5,000 events for those that match.",
    false,
  ),
  next_cursor: text(
    "Send it as `starting_after` for the events that follow, now or later; newest first, for those before them.",
    "eyJwIjoxNzcyNDQyOTAwMDAwMDAwfQ",
  ),
});

export type EventListResponse = z.output<typeof eventListResponse>;

/** An event as stored in PostgreSQL. */
export type EventRow = {
  id: Uuid;
  mode: Mode;
  type: string;
  data: Record<string, unknown>;
  actor: { type: string; id?: string };
  origin: Origin | null;
  occurred_at: Date;
  position: number;
};

/** An event as a caller sees it: its origin only with the scope `audit:read`. */
export const toEventResponse = (
  row: EventRow,
  seesOrigin: boolean,
): z.output<typeof eventResponse> => ({
  id: encodeId("event", row.id),
  type: row.type,
  created_at: row.occurred_at.toISOString(),
  mode: row.mode,
  data: row.data,
  actor: row.actor,
  ...(seesOrigin ? { origin: row.origin } : {}),
});
