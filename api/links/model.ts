/** Links as clients see them: what a request may hold, and what an answer does. */
import * as z from "zod";

import type { createLinkBody, updateLinkBody } from "../../shared/contracts/link-bodies.ts";
import type { Mode } from "../../shared/contracts/link-record.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { listQuery, paginationAnswer } from "../http/pages.ts";
import type { Utm } from "./destination.ts";

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
