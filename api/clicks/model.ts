/** Schemas of single clicks. */
import * as z from "zod";

import { LINK_ID } from "../../shared/contracts/examples.ts";
import { UTM_EXAMPLES } from "../../shared/contracts/link-fields.ts";
import type { UtmName } from "../../shared/contracts/utm.ts";
import { analyticsQuery } from "../analytics/model.ts";
import {
  city,
  clickFields,
  completeFromField,
  country,
  linkId,
  region,
  regionName,
} from "../analytics/responses.ts";
import { idParameter, text } from "../http/common-schemas.ts";
import { cursorParameter, entriesOf, nextCursor } from "../http/pagination.ts";
import type { CLICK_FIELDS } from "./single-clicks.ts";

/** Maximum clicks of one page. */
export const CLICKS_PAGE_MAX = 1_000;

export const exportQuery = analyticsQuery.extend({
  link_id: idParameter("link", "Only clicks of this link.", LINK_ID).optional(),
});

export type ExportQuery = z.output<typeof exportQuery>;

export const clicksQuery = exportQuery.extend({
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(CLICKS_PAGE_MAX)
    .default(100)
    .meta({ description: "The maximum number of entries to return.", examples: [20] }),
  starting_after: cursorParameter(),
});

export type ClicksQuery = z.output<typeof clicksQuery>;

const utm = (name: UtmName) =>
  z.string().meta({
    description: `\`${name}\` of the click; empty for none.`,
    examples: [UTM_EXAMPLES[name]],
  });

/** In the order of {@link CLICK_FIELDS}. */
const fields = {
  id: text(
    "The click's position in a redirector's journal, which identifies it.",
    "0199d3e2-7f6a-7cc1-9d7a-3c1b4e2f8a10.12.3",
  ),
  time: clickFields.time,
  link_id: linkId,
  class: clickFields.class,
  class_reason: text(
    "Why the click is classified as a bot or prefetch; empty for people.",
    "googlebot",
  ),
  country,
  region,
  city,
  continent: text("The continent's code; empty when it is unknown.", "EU"),
  device: clickFields.device,
  browser: clickFields.browser,
  os: clickFields.os,
  referrer: clickFields.referrer,
  referrer_path: text("The path of the page that linked here.", "/news"),
  language: text("The preferred language of the browser.", "de"),
  host: text("The short domain that was visited.", "short.example.com"),
  trigger: text("`qr` for a scan of the link's QR code, else `link`.", "link"),
  imported: text("`yes` for a visit of another product, which was imported, else `no`.", "no"),
  utm_source: utm("utm_source"),
  utm_medium: utm("utm_medium"),
  utm_campaign: utm("utm_campaign"),
  utm_term: utm("utm_term"),
  utm_content: utm("utm_content"),
  region_name: regionName,
} satisfies Record<(typeof CLICK_FIELDS)[number], z.ZodString>;

const listedClick = z.object(fields).meta({
  id: "ListedClick",
  description: "A click. It has neither an address nor a user agent.",
});

export const clicksResponse = z
  .object({
    data: entriesOf(listedClick),
    next_cursor: nextCursor,
    complete_from: completeFromField.complete_from.meta({
      description:
        "Present when clicks of the period have been deleted: earlier clicks are missing.",
    }),
  })
  .meta({ id: "ListedClicks", description: "A page of single clicks." });

export type ClicksResponse = z.output<typeof clicksResponse>;
