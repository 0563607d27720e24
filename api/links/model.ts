/** Links as clients see them: what a request may hold, and what an answer does. */
import * as z from "zod";

import type { Mode } from "../../shared/contracts/link-record.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { plainText } from "../http/fields.ts";
import { listQuery, paginationAnswer } from "../http/pages.ts";
import type { Utm } from "./destination.ts";

/** The most tags of one link. */
const TAGS_MAX = 20;

const utmValue = (name: string) =>
  plainText(255)
    .nullish()
    .meta({ description: `Set as \`${name}\` on the destination's query when it redirects.` });

const tag = plainText(50).trim().min(1);

/** What may be said of a link when it is made and when it is changed. */
const optionalFields = {
  title: plainText(255).nullish(),
  expires_at: z.iso
    .datetime({ offset: true })
    .nullish()
    .meta({
      description: "In the future; null for no expiry.",
      examples: ["2030-01-01T00:00:00Z"],
    }),
  password: z
    .string()
    .min(1)
    .max(128)
    .nullish()
    .meta({ description: "What visitors are asked for; null for none. Never returned." }),
  utm_source: utmValue("utm_source"),
  utm_medium: utmValue("utm_medium"),
  utm_campaign: utmValue("utm_campaign"),
  utm_term: utmValue("utm_term"),
  utm_content: utmValue("utm_content"),
  forward_query: z
    .boolean()
    .optional()
    .meta({ description: "Whether the short URL's own query is passed on to the destination." }),
  tags: z
    .array(tag)
    .max(TAGS_MAX)
    .transform((tags) => [...new Set(tags)])
    .optional()
    .meta({ description: "Words to find the link by, in place of those it had." }),
};

const url = z.string().meta({
  description: "The destination: an absolute http or https URL.",
  examples: ["https://example.com/a/long/path?with=query"],
});

const alias = z.string().meta({
  description: "1 to 64 characters of A–Z, a–z, 0–9, _ and -, not starting with -.",
  examples: ["summer-sale"],
});

export const createLinkBody = z
  .strictObject({
    url,
    alias: alias.nullish(),
    domain: z
      .string()
      .nullish()
      .meta({ description: "A verified domain of the account; the service's own when left out." }),
    ...optionalFields,
  })
  .meta({ id: "NewLink" });

export type CreateLinkBody = z.output<typeof createLinkBody>;

/** What a link is called in paths. */
const linkId = z.string().meta({ examples: ["link_01k9z3v6x7e8w9r0t1y2u3i4o5"] });

export const createdLink = z
  .object({
    id: linkId,
    short_url: z.string().meta({ examples: ["https://sho.rt/summer-sale"] }),
    original_url: z.string(),
    alias: z.string(),
    domain: z.string().nullable().meta({ description: "null for the service's own." }),
    title: z.string().nullable(),
    tags: z.array(z.string()),
    clicks: z.int(),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime().nullable(),
  })
  .meta({ id: "Link" });

export const fullLink = createdLink
  .extend({
    unique_clicks: z.int(),
    updated_at: z.iso.datetime(),
    has_password: z.boolean(),
  })
  .meta({ id: "FullLink" });

/** What a change may hold: what is left out stays as it is, null removes. */
export const updateLinkBody = z
  .strictObject({ url: url.optional(), alias: alias.optional(), ...optionalFields })
  .meta({ id: "LinkChange" });

export type UpdateLinkBody = z.output<typeof updateLinkBody>;

export const listLinksQuery = listQuery.extend({
  search: z
    .string()
    .max(255)
    .optional()
    .meta({ description: "Text that title, alias or URL holds, whatever its case." }),
  tag: z.string().max(50).optional().meta({ description: "Only links with this tag." }),
  sort: z.enum(["created_at", "clicks"]).default("created_at"),
  order: z.enum(["asc", "desc"]).default("desc"),
});

export type ListLinksQuery = z.output<typeof listLinksQuery>;

export const linkListAnswer = z.object({
  data: z.array(createdLink),
  pagination: paginationAnswer,
});

/** A link as PostgreSQL holds it, its figures beside it. */
export type LinkRow = Utm & {
  id: Uuid;
  account_id: Uuid;
  mode: Mode;
  domain_id: Uuid | null;
  domain_host: string | null;
  alias: string;
  original_url: string;
  target_url: string;
  title: string | null;
  password_hash: string | null;
  expires_at: Date | null;
  forward_query: boolean;
  tags: string[];
  version: number;
  created_at: Date;
  updated_at: Date;
  clicks: number;
  unique_clicks: number;
};

/** Custom domains are served where the service's own is, so scheme and port are the same. */
export function shortUrlOf(row: Pick<LinkRow, "domain_host" | "alias">, shortUrl: string): string {
  const url = new URL(shortUrl);
  if (row.domain_host !== null) url.hostname = row.domain_host;
  return `${url.origin}/${row.alias}`;
}

export const toCreatedLink = (row: LinkRow, shortUrl: string): z.output<typeof createdLink> => ({
  id: encodeId("link", row.id),
  short_url: shortUrlOf(row, shortUrl),
  original_url: row.original_url,
  alias: row.alias,
  domain: row.domain_host,
  title: row.title,
  tags: row.tags,
  clicks: row.clicks,
  created_at: row.created_at.toISOString(),
  expires_at: row.expires_at?.toISOString() ?? null,
});

export const toFullLink = (row: LinkRow, shortUrl: string): z.output<typeof fullLink> => ({
  ...toCreatedLink(row, shortUrl),
  unique_clicks: row.unique_clicks,
  updated_at: row.updated_at.toISOString(),
  has_password: row.password_hash !== null,
});
