/** Links as clients see them: what a request may hold, and what an answer does. */
import * as z from "zod";

import type { Mode } from "../../shared/contracts/link-record.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { plainText } from "../http/fields.ts";
import { listQuery, paginationAnswer } from "../http/pages.ts";
import type { Utm } from "./destination.ts";

const utmValue = plainText(255).nullish();

/** What may be said of a link when it is made and when it is changed. */
const optionalFields = {
  title: plainText(255).nullish(),
  expires_at: z.iso.datetime({ offset: true }).nullish(),
  password: z.string().min(1).max(128).nullish(),
  utm_source: utmValue,
  utm_medium: utmValue,
  utm_campaign: utmValue,
  utm_term: utmValue,
  utm_content: utmValue,
  forward_query: z.boolean().optional(),
};

export const createLinkBody = z.strictObject({
  url: z.string(),
  alias: z.string().nullish(),
  ...optionalFields,
});

export type CreateLinkBody = z.output<typeof createLinkBody>;

export const createdLink = z.object({
  id: z.string(),
  short_url: z.string(),
  original_url: z.string(),
  alias: z.string(),
  title: z.string().nullable(),
  clicks: z.int(),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().nullable(),
});

export const fullLink = createdLink.extend({
  unique_clicks: z.int(),
  updated_at: z.iso.datetime(),
  has_password: z.boolean(),
});

/** What a change may hold: what is left out stays as it is, null removes. */
export const updateLinkBody = z.strictObject({
  url: z.string().optional(),
  alias: z.string().optional(),
  ...optionalFields,
});

export type UpdateLinkBody = z.output<typeof updateLinkBody>;

export const listLinksQuery = listQuery.extend({
  search: z.string().max(255).optional(),
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
  domain_host: string | null;
  alias: string;
  original_url: string;
  target_url: string;
  title: string | null;
  password_hash: string | null;
  expires_at: Date | null;
  forward_query: boolean;
  version: number;
  created_at: Date;
  updated_at: Date;
  clicks: number;
  unique_clicks: number;
};

export const toCreatedLink = (row: LinkRow, shortUrl: string): z.output<typeof createdLink> => ({
  id: encodeId("link", row.id),
  short_url: `${row.domain_host === null ? shortUrl : `https://${row.domain_host}`}/${row.alias}`,
  original_url: row.original_url,
  alias: row.alias,
  title: row.title,
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
