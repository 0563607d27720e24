/** Schemas of link requests and responses, and the rows they come from. */
import * as z from "zod";

import { instant } from "../../shared/contracts/instant.ts";
import type { Mode } from "../../shared/contracts/link-record.ts";
import {
  type createLinkBody,
  EXTERNAL_ID_LENGTH_MAX,
  externalId,
  TAG_LENGTH_MAX,
  TAGS_MAX,
  type updateLinkBody,
  type upsertLinkBody,
} from "../../shared/contracts/link-schemas.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { toEtag } from "../http/etag.ts";
import { listOf, listQuery } from "../http/pagination.ts";
import {
  clicksLeft,
  type LinkSettings,
  settingsOf,
  settingsResponse,
  statusOf,
} from "./settings/model.ts";
import type { Utm } from "./utm.ts";

export type CreateLinkBody = z.output<typeof createLinkBody>;

const linkId = z.string().meta({ examples: ["link_01k9z3v6x7e8w9r0t1y2u3i4o5"] });

export const createdLink = z
  .object({
    id: linkId,
    short_url: z.string().meta({ examples: ["https://short.example.com/summer-sale"] }),
    original_url: z.string(),
    alias: z.string(),
    domain: z.string().nullable().meta({ description: "null for the service's own domain." }),
    title: z.string().nullable(),
    tags: z.array(z.string()),
    clicks: z.int(),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime().nullable(),
    external_id: z
      .string()
      .nullable()
      .meta({ description: "Your own id of the link; unique in the account and mode." }),
  })
  .meta({ id: "Link" });

const utmSetting = z.string().nullable().optional();

/** Settings that can be written, which a link has only with `include=settings`. */
const querySettings = {
  forward_query: z.boolean().optional(),
  utm_source: utmSetting,
  utm_medium: utmSetting,
  utm_campaign: utmSetting,
  utm_term: utmSetting,
  utm_content: utmSetting,
};

const furtherFields = {
  unique_clicks: z.int(),
  updated_at: z.iso.datetime(),
  has_password: z.boolean(),
  ...querySettings,
  ...settingsResponse,
};

export const fullLink = createdLink.extend(furtherFields).meta({ id: "FullLink" });

/** A link of a list, which has the further fields only with `include=settings`. */
const listedLink = createdLink
  .extend(z.object(furtherFields).partial().shape)
  .meta({ id: "ListedLink" });

/** What a response includes only when it is asked for. */
export const includeQuery = z.object({
  include: z
    .enum(["settings"])
    .optional()
    .meta({ description: "`settings` adds `forward_query` and the UTM parameters." }),
});

export const externalIdParams = z.object({ external_id: externalId });

export type UpsertLinkBody = z.output<typeof upsertLinkBody>;

export type UpdateLinkBody = z.output<typeof updateLinkBody>;

/** Maximum characters of an alias. */
export const ALIAS_LENGTH_MAX = 64;

/** Maximum characters of a host name (RFC 1035). */
const HOST_LENGTH_MAX = 253;

/** Maximum characters of a search, which becomes a pattern for the trigram index. */
const SEARCH_LENGTH_MAX = 255;

/** Maximum characters of a URL to find. */
const URL_LENGTH_MAX = 8_192;

const tagFilter = z.string().max(TAG_LENGTH_MAX);

export const listLinksQuery = listQuery.extend({
  include: z
    .enum(["settings"])
    .optional()
    .meta({ description: "`settings` adds every other field of each link." }),
  search: z
    .string()
    .max(SEARCH_LENGTH_MAX)
    .optional()
    .meta({ description: "Text that title, alias or URL contains, ignoring case." }),
  tag: z
    .union([tagFilter, z.array(tagFilter).max(TAGS_MAX)])
    .optional()
    .meta({ description: "Only links with this tag; repeated, with all of these tags." }),
  alias: z.string().max(ALIAS_LENGTH_MAX).optional().meta({ description: "Exactly this alias." }),
  domain: z.string().max(HOST_LENGTH_MAX).optional().meta({
    description: "Only links on this domain: one of the account's, or the service's own.",
  }),
  url: z
    .string()
    .max(URL_LENGTH_MAX)
    .optional()
    .meta({ description: "Only links to this destination." }),
  external_id: z
    .string()
    .max(EXTERNAL_ID_LENGTH_MAX)
    .optional()
    .meta({ description: "Only the link with this `external_id`." }),
  created_after: instant.optional().meta({ description: "Created at this instant or later." }),
  created_before: instant.optional().meta({ description: "Created before this instant." }),
  expired: z
    .enum(["true", "false"])
    .optional()
    .meta({ description: "Only links that have expired, or only others." }),
  archived: z
    .enum(["true", "false", "any"])
    .optional()
    .meta({ description: "Only archived links, or all; without it, only others." }),
  sort: z.enum(["created_at", "clicks"]).default("created_at"),
  order: z.enum(["asc", "desc"]).default("desc"),
});

export const lookupQuery = includeQuery.extend({
  alias: z.string().max(ALIAS_LENGTH_MAX),
  domain: z
    .string()
    .max(HOST_LENGTH_MAX)
    .optional()
    .meta({ description: "The link's domain; the service's own when left out." }),
});

export type ListLinksQuery = z.output<typeof listLinksQuery>;

export const linkListResponse = listOf(listedLink).meta({ id: "LinkList" });

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
  external_id: string | null;
  /** What decides beside the destination; null for most links. */
  extras: LinkSettings | null;
  archived: boolean;
  /** An operator has taken it down: as a single link in a row as stored, or in any way in one for a response. */
  taken_down: boolean;
  /** Its domain ignores the case of aliases. */
  folded: boolean;
  /** Whether it is published: its domain may have lost its proof. */
  served: boolean;
  version: number;
  created_at: Date;
  updated_at: Date;
  clicks: number;
  unique_clicks: number;
  /** Clicks of the link's limit that are spent, for responses; absent while that is unknown. */
  spent_clicks?: number;
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
  external_id: row.external_id,
});

export const toFullLink = (
  row: LinkRow,
  shortUrl: string,
  include?: "settings",
): z.output<typeof fullLink> => ({
  ...toCreatedLink(row, shortUrl),
  unique_clicks: row.unique_clicks,
  updated_at: row.updated_at.toISOString(),
  has_password: row.password_hash !== null,
  ...(include === "settings" ? querySettingsOf(row) : {}),
  ...settingsOf(row, Date.now()),
});

const querySettingsOf = (row: LinkRow) => ({
  forward_query: row.forward_query,
  utm_source: row.utm_source,
  utm_medium: row.utm_medium,
  utm_campaign: row.utm_campaign,
  utm_term: row.utm_term,
  utm_content: row.utm_content,
});

/** The entity tag of a link: it changes with its version, its counters and, as time passes, its status. */
export function linkEtag(row: LinkRow): string {
  const status = statusOf(row, Date.now());
  const left = clicksLeft(row);
  const others = [
    ...(status === "active" ? [] : [status]),
    ...(left === undefined ? [] : [String(left)]),
  ];
  return toEtag(row.version, row.clicks, row.unique_clicks, ...others);
}

/** Says that a change is committed, but not with the redirectors yet. */
export const propagationHeaders = (propagated: boolean): Record<string, string> =>
  propagated ? {} : { "x-propagation": "pending" };
