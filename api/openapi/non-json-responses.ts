/** OpenAPI descriptions of non-JSON responses, for which routes have no schema. */
import * as z from "zod";
import type { ZodOpenApiResponseObject } from "zod-openapi";

import { clickFields, country } from "../analytics/responses.ts";
import { instant, text } from "../http/common-schemas.ts";

const binary = (contentMediaType: string) => ({
  schema: { type: "string" as const, contentMediaType },
});

/**
 * The JSON in an event's `data`. OpenAPI 3.1 cannot describe the events of a stream, so an
 * extension contains the schema.
 */
export const clickEvent = z
  .object({
    time: instant("When the redirect was sent.", "2026-03-02T09:15:07.318Z"),
    class: z
      .enum(["human", "bot", "prefetch"])
      .meta({ description: "`human`, `bot` or `prefetch`." }),
    country,
    region: text("The region's code; empty when it is unknown.", "DE-BE"),
    city: text("The city's name; empty when it is unknown.", "Berlin"),
    browser: clickFields.browser,
    os: clickFields.os,
    device: z
      .enum(["mobile", "desktop", "tablet", "other"])
      .meta({ description: "`desktop`, `mobile`, `tablet` or `other`." }),
    referrer: clickFields.referrer.meta({ examples: ["google"] }),
  })
  .meta({
    id: "ClickEvent",
    description: "A click, as the stream sends it in `data` of an event.",
  });

const EXAMPLE_EVENT = `id: 1772442907318.0199d3e2-7f6a-7cc1-9d7a-3c1b4e2f8a10.12.3
event: click
data: {"time":"2026-03-02T09:15:07.318Z","class":"human","country":"DE","region":"DE-BE","city":"Berlin","browser":"Safari","os":"iOS","device":"mobile","referrer":"google"}

`;

/** By the path of the route. */
export const NON_JSON_RESPONSES: Readonly<Record<string, ZodOpenApiResponseObject>> = {
  "/v1/links/:id/qr": {
    description: "The image in the requested format",
    content: {
      "image/svg+xml": binary("image/svg+xml"),
      "image/png": binary("image/png"),
      "application/pdf": binary("application/pdf"),
    },
  },
  "/v1/clicks/export": {
    description: "One `ListedClick` as JSON in each line",
    content: {
      "application/x-ndjson": {
        schema: {
          type: "string" as const,
          "x-line": { $ref: "#/components/schemas/ListedClick" },
        },
      },
    },
  },
  "/v1/analytics/:link_id/stream": {
    description:
      "Events named `click`. Each has an id for resuming, and a `ClickEvent` as JSON in `data`. Lines that begin with a colon keep the connection open.",
    content: {
      "text/event-stream": {
        schema: {
          type: "string" as const,
          examples: [EXAMPLE_EVENT],
          "x-event-data": { $ref: "#/components/schemas/ClickEvent" },
        },
      },
    },
  },
};

/** Headers that a route reads itself, without a schema that validates them. */
export const EXTRA_HEADERS: Readonly<Record<string, z.ZodObject>> = {
  "/v1/analytics/:link_id/stream": z.object({
    "Last-Event-ID": z
      .string()
      .optional()
      .meta({
        description: "The id of the last event that was received, to resume after it.",
        examples: ["1772442907318.0199d3e2-7f6a-7cc1-9d7a-3c1b4e2f8a10.12.3"],
        maxLength: 128,
      }),
  }),
  "/v1/shared/:token": z.object({
    "X-Share-Access": z
      .string()
      .optional()
      .meta({
        description:
          "The access token of `unlockSharedStatistics`; only for statistics with a password.",
        examples: ["1772446500.q1Zt…"],
        maxLength: 64,
      }),
  }),
};
