/** Schemas of link requests, and the rows of links. */
import * as z from "zod";

import { ALIAS_BYTES_MAX, normalizeAlias } from "../../shared/contracts/alias.ts";
import { ofEachUtm, UTM_NAMES, type UtmName } from "../../shared/contracts/analytics.ts";
import {
  CUSTOM_DOMAIN,
  KEY_ID,
  LINK_ID,
  LONG_URL,
  SHORT_URL,
} from "../../shared/contracts/examples.ts";
import { EXTERNAL_ID_EXAMPLE, UTM_EXAMPLES } from "../../shared/contracts/link-fields.ts";
import type { Mode } from "../../shared/contracts/link-record.ts";
import {
  EXTERNAL_ID_LENGTH_MAX,
  externalId,
  type newLinkBody,
  TAG_LENGTH_MAX,
  TAGS_MAX,
  type updateLinkBody,
  type upsertLinkBody,
} from "../../shared/contracts/link-schemas.ts";
import { instant, searchText } from "../../shared/contracts/text-schemas.ts";
import { composeTrimmed, trimInvisible } from "../../shared/contracts/text.ts";
import type { Uuid } from "../../shared/ids.ts";
import { choice, idInPath } from "../http/common-schemas.ts";
import { listQuery } from "../http/pagination.ts";
import { filterParameter } from "../http/query.ts";
import type { LinkSettings } from "./settings.ts";
import { SHORT_URL_LENGTH_MAX } from "./short-url.ts";

export type CreateLinkBody = z.output<typeof newLinkBody>;

const include = z.enum(["settings"]).optional();

export type Include = z.output<typeof include>;

/** Parts of a response that are included only on request. */
export const includeQuery = z.object({
  include: include.meta({
    description: "`settings` adds `forward_query` and the UTM parameters.",
  }),
});

/** As {@link includeQuery}, for created and for listed links. */
export const includeAllQuery = z.object({
  include: include.meta({
    description:
      "`settings` adds `forward_query`, the UTM parameters, `unique_clicks`, `updated_at` and `has_password`.",
  }),
});

export const linkParams = z.object({ id: idInPath("link", "The link's id.", LINK_ID) });

export const externalIdParams = z.object({
  external_id: externalId.meta({
    description: "Your own id for the link.",
    examples: [EXTERNAL_ID_EXAMPLE],
  }),
});

export type UpsertLinkBody = z.output<typeof upsertLinkBody>;

export type UpdateLinkBody = z.output<typeof updateLinkBody>;

/** A change of one of many links, which can also move it to another domain. */
export type ManyChangeBody = UpdateLinkBody & { domain?: CreateLinkBody["domain"] };

/** Maximum characters of a host name (RFC 1035). */
const HOST_LENGTH_MAX = 253;

/** Maximum characters of a search, which becomes a pattern for the trigram index. */
const SEARCH_LENGTH_MAX = 255;

/** Maximum characters of a URL to find. */
const URL_LENGTH_MAX = 8_192;

/** Maximum characters of the public id of a creator. */
const CREATOR_LENGTH_MAX = 40;

/** An alias to find, in any Unicode form; characters beyond U+FFFF count twice. */
const aliasText = z.string().max(ALIAS_BYTES_MAX).overwrite(normalizeAlias);

const tagFilter = searchText(TAG_LENGTH_MAX).overwrite(trimInvisible);

const utmFilter = (name: UtmName) =>
  filterParameter(
    `\`${name}\` that the link sets; empty where it sets none.`,
    UTM_EXAMPLES[name],
    (text) => ({ value: composeTrimmed(text) }),
  );

/** The conditions of a list of links: of a request, and of a filter that is saved. */
export const linkConditions = z.object({
  search: z
    .string()
    .max(SEARCH_LENGTH_MAX)
    .optional()
    .meta({
      description:
        "Text that title, alias, URL or notes contain, ignoring case; or a short URL of the account, as it was pasted, for its link.",
      examples: ["spring"],
    }),
  tag: z
    .union([tagFilter, z.array(tagFilter).max(TAGS_MAX)])
    .optional()
    .meta({
      description: "Only links with this tag; repeated, with all of these tags.",
      examples: ["spring"],
    }),
  alias: aliasText
    .optional()
    .meta({ description: "Exactly this alias.", examples: ["spring-sale"] }),
  domain: z
    .string()
    .max(HOST_LENGTH_MAX)
    .optional()
    .meta({
      description:
        "Only links on this domain: one of the account's, or the service's own. It may have the port that short URLs have.",
      examples: [CUSTOM_DOMAIN],
    }),
  url: z
    .string()
    .max(URL_LENGTH_MAX)
    .optional()
    .meta({ description: "Only links to this destination.", examples: [LONG_URL] }),
  external_id: z
    .string()
    .max(EXTERNAL_ID_LENGTH_MAX)
    .optional()
    .meta({
      description: "Only the link with this `external_id`.",
      examples: [EXTERNAL_ID_EXAMPLE],
    }),
  ...ofEachUtm(utmFilter),
  created_by: z
    .string()
    .max(CREATOR_LENGTH_MAX)
    .optional()
    .meta({ description: "Created by this key or this user.", examples: [KEY_ID] }),
  created_after: instant.optional().meta({
    description: "Created at this instant or later.",
    examples: ["2026-01-01T00:00:00Z"],
  }),
  created_before: instant
    .optional()
    .meta({ description: "Created before this instant.", examples: ["2026-04-01T00:00:00Z"] }),
  expired: choice(
    "Only links that have expired, or only others.",
    ["true", "false"],
    "false",
  ).optional(),
  archived: choice(
    "Only archived links, or all; without it, only others.",
    ["true", "false", "any"],
    "any",
  ).optional(),
});

export const listLinksQuery = listQuery.extend({
  ...includeAllQuery.shape,
  ...linkConditions.shape,
  sort: z.enum(["created_at", "clicks", "last_click_at"]).default("created_at").meta({
    description:
      "What to sort by; links with the same value by id. By `last_click_at`, links without a click are the oldest.",
  }),
  order: z
    .enum(["asc", "desc"])
    .default("desc")
    .meta({ description: "`desc` for the latest, or the most clicked, first." }),
});

/** The short URL of a link of the caller. */
export const shortUrlText = z.string().min(1).max(SHORT_URL_LENGTH_MAX);

export const lookupQuery = includeQuery.extend({
  short_url: shortUrlText.optional().meta({
    description: "The link's short URL, with or without `https://`.",
    examples: [SHORT_URL],
  }),
  // A list takes a blank one for none at all, and would return the newest link.
  alias: aliasText
    .trim()
    .min(1)
    .optional()
    .meta({
      description: "The link's alias, in place of its short URL.",
      examples: ["spring-sale"],
    }),
  domain: z
    .string()
    .max(HOST_LENGTH_MAX)
    .optional()
    .meta({
      description: "The domain of `alias`; the service's own when left out.",
      examples: [CUSTOM_DOMAIN],
    }),
});

export type ListLinksQuery = z.output<typeof listLinksQuery>;

export type Utm = Record<UtmName, string | null>;

/** Columns with the text of the field of the same name; null without one. */
export const TEXT_COLUMNS = ["title", "notes", "external_id", ...UTM_NAMES] as const;

type Texts<Text> = Record<(typeof TEXT_COLUMNS)[number], Text>;

/** The text columns of a link that has these fields. */
export const toTextColumns = (fields: Partial<Texts<string | null | undefined>>) =>
  // The names are those of the columns.
  Object.fromEntries(TEXT_COLUMNS.map((name) => [name, fields[name] ?? null])) as Texts<
    string | null
  >;

/** A link as stored in PostgreSQL, with its click counters. */
export type LinkRow = Texts<string | null> & {
  id: Uuid;
  account_id: Uuid;
  mode: Mode;
  domain_id: Uuid | null;
  domain_host: string | null;
  alias: string;
  original_url: string;
  target_url: string;
  /** The public id of the key or the user. */
  created_by: string | null;
  password_hash: string | null;
  expires_at: Date | null;
  forward_query: boolean;
  tags: string[];
  /** Settings beyond the destination; null for most links. */
  extras: LinkSettings | null;
  archived: boolean;
  /**
   * Taken down by an operator: in a stored row as a single link; in a row for a response also with
   * its account or host.
   */
  taken_down: boolean;
  /** Its domain ignores the case of aliases. */
  folded: boolean;
  /** Whether it is published; false while its domain is unverified or has lost its proof. */
  served: boolean;
  version: number;
  created_at: Date;
  updated_at: Date;
  clicks: number;
  unique_clicks: number;
  /** The last click by a person. */
  last_click_at: Date | null;
  /** Used clicks of the link's click limit, for responses; absent while unknown. */
  used_clicks?: number;
};

/** A link that has no version yet. */
export type NewLink = Omit<
  LinkRow,
  "version" | "updated_at" | "clicks" | "unique_clicks" | "last_click_at"
> & {
  /** Clicks counted so far; absent for a new link. */
  clicks?: number;
};
