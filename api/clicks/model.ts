/** Schemas of single clicks. */
import * as z from "zod";

import { analyticsQuery } from "../analytics/model.ts";
import { CURSOR_LENGTH_MAX } from "../http/cursor.ts";
import { CLICK_FIELDS } from "./single-clicks.ts";

/** Maximum clicks of one page. */
const PAGE_MAX = 1_000;

export const exportQuery = analyticsQuery.extend({
  link_id: z.string().optional().meta({ description: "Only clicks of this link." }),
});

export type ExportQuery = z.output<typeof exportQuery>;

export const clicksQuery = exportQuery.extend({
  limit: z.coerce.number().int().min(1).max(PAGE_MAX).default(100),
  starting_after: z.string().max(CURSOR_LENGTH_MAX).optional().meta({
    description: "The `next_cursor` of the page before.",
  }),
});

export type ClicksQuery = z.output<typeof clicksQuery>;

const fields = Object.fromEntries(CLICK_FIELDS.map((name) => [name, z.string()])) as Record<
  (typeof CLICK_FIELDS)[number],
  z.ZodString
>; // fromEntries creates one per field.

export const clicksResponse = z.object({
  data: z.array(z.object(fields).meta({ id: "ListedClick" })),
  next_cursor: z.string().nullable(),
  complete_from: z.iso.datetime().optional(),
});

export type ClicksResponse = z.output<typeof clicksResponse>;
