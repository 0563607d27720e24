/** Schemas of link requests and responses, and the rows they come from. */
import * as z from "zod";

import type { Mode } from "../../shared/contracts/link-record.ts";
import {
  type createLinkBody,
  TAG_LENGTH_MAX,
  type updateLinkBody,
} from "../../shared/contracts/link-schemas.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { listQuery, paginationSchema } from "../http/pagination.ts";
import type { Utm } from "./utm.ts";

export type CreateLinkBody = z.output<typeof createLinkBody>;

const linkId = z.string().meta({ examples: ["link_01k9z3v6x7e8w9r0t1y2u3i4o5"] });

export const createdLink = z
  .object({
    id: linkId,
    short_url: z.string().meta({ examples: ["https://sho.rt/summer-sale"] }),
    original_url: z.string(),
    alias: z.string(),
    domain: z.string().nullable().meta({ description: "null for the service's own domain." }),
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

export type UpdateLinkBody = z.output<typeof updateLinkBody>;

/** Maximum characters of a search, which becomes a pattern for the trigram index. */
const SEARCH_LENGTH_MAX = 255;

export const listLinksQuery = listQuery.extend({
  search: z
    .string()
    .max(SEARCH_LENGTH_MAX)
    .optional()
    .meta({ description: "Text that title, alias or URL contains, ignoring case." }),
  tag: z.string().max(TAG_LENGTH_MAX).optional().meta({ description: "Only links with this tag." }),
  sort: z.enum(["created_at", "clicks"]).default("created_at"),
  order: z.enum(["asc", "desc"]).default("desc"),
});

export type ListLinksQuery = z.output<typeof listLinksQuery>;

export const linkListResponse = z.object({
  data: z.array(createdLink),
  pagination: paginationSchema,
});

/** A link as stored in PostgreSQL, with its click counters. */
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

/** The short URL of a link. Custom domains share the scheme and port of the service's own domain. */
export function buildShortUrl(
  row: Pick<LinkRow, "domain_host" | "alias">,
  shortUrl: string,
): string {
  const url = new URL(shortUrl);
  if (row.domain_host !== null) url.hostname = row.domain_host;
  return `${url.origin}/${row.alias}`;
}

export const toCreatedLink = (row: LinkRow, shortUrl: string): z.output<typeof createdLink> => ({
  id: encodeId("link", row.id),
  short_url: buildShortUrl(row, shortUrl),
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
