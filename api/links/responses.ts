/** Links in responses: base fields first; further fields if they are set, or on request. */
import * as z from "zod";

import { ofEachUtm, type UtmName } from "../../shared/contracts/analytics.ts";
import { component } from "../../shared/contracts/components.ts";
import {
  KEY_ID,
  LAST_CLICK_AT,
  LINK_ID,
  LONG_URL,
  SHORT_URL,
} from "../../shared/contracts/examples.ts";
import {
  EXTERNAL_ID_EXAMPLE,
  notesMeta,
  TAGS_EXAMPLE,
  titleMeta,
  UTM_EXAMPLES,
} from "../../shared/contracts/link-fields.ts";
import { settingsResponse } from "../../shared/contracts/link-settings.ts";
import { encodeId } from "../../shared/ids.ts";
import {
  count,
  createdAt,
  expiresAt,
  flag,
  hasPassword,
  instantOrNull,
  text,
  textOrNull,
  updatedAt,
} from "../http/common-schemas.ts";
import { toEtag } from "../http/etag.ts";
import { listOf } from "../http/pagination.ts";
import type { CreateLinkBody, Include, LinkRow } from "./model.ts";
import { clicksLeft, settingsOf, statusOf } from "./settings.ts";
import { buildShortUrl } from "./short-url.ts";

const named = {
  id: text("The link's id, for the paths of this API.", LINK_ID),
  short_url: text("The URL that visitors open.", SHORT_URL),
  original_url: text("The destination, as it was sent.", LONG_URL),
  alias: text("The path of the short URL: chosen, or seven random characters.", "spring-sale"),
  title: z.string().nullable().meta(titleMeta),
  clicks: count(
    "All clicks by people, without bots and prefetches; up to a few seconds old.",
    1284,
  ),
};

const dated = { created_at: createdAt, expires_at: expiresAt };

const lastClick = {
  last_click_at: instantOrNull(
    "The last of the clicks in `clicks`, up to a few seconds old; null without any. It remains when retention deletes the click.",
    LAST_CLICK_AT,
  ),
};

const labels = {
  domain: textOrNull("The custom domain; null for the service's own.", null),
  tags: z
    .array(z.string())
    .meta({ description: "Labels to filter links by.", examples: [TAGS_EXAMPLE] }),
  external_id: textOrNull(
    "Your own id for the link, unique in the account and mode.",
    EXTERNAL_ID_EXAMPLE,
  ),
  notes: z.string().nullable().meta(notesMeta),
  created_by: textOrNull("The key or the user that created it; null for neither.", KEY_ID),
};

const details = {
  unique_clicks: count("Distinct visitors of the link, of all time.", 973),
  updated_at: updatedAt,
  has_password: hasPassword,
};

const utmSetting = (name: UtmName) =>
  z
    .string()
    .nullable()
    .optional()
    .meta({
      description: `Set as \`${name}\` in the destination's query.`,
      examples: [UTM_EXAMPLES[name]],
    });

/** Settings that no response has but on request, as the interface wants of the UTM parameters. */
const querySettings = {
  forward_query: flag(
    "Whether the short URL's query is passed on to the destination.",
    true,
  ).optional(),
  ...ofEachUtm(utmSetting),
};

const baseLink = z.object({ ...named, ...dated, ...lastClick, ...labels });

/** A link, with the fields that only reads of one link always have as optional ones. */
export const linkResponse = baseLink
  .extend(z.object(details).partial().shape)
  .extend({ ...querySettings, ...settingsResponse })
  .meta({
    id: "Link",
    description:
      "A link, as creations and lists return it: with every setting that is on, except `forward_query` and the UTM parameters. `include=settings` adds these, and every other field.",
  });

export const fullLink = component(
  "FullLink",
  "A link, as reads and changes of one return it: with every setting that is on, except `forward_query` and the UTM parameters, which `include=settings` adds.",
  {
    ...named,
    unique_clicks: details.unique_clicks,
    created_at: dated.created_at,
    updated_at: details.updated_at,
    expires_at: dated.expires_at,
    has_password: details.has_password,
    ...lastClick,
    ...labels,
    ...querySettings,
    ...settingsResponse,
    // What a request sets is returned, but for the password; `url` has another name.
  } satisfies Record<Exclude<keyof CreateLinkBody, "url" | "password">, z.ZodType> & z.ZodRawShape,
);

export const linkListResponse = listOf("LinkList", "A page of links.", linkResponse);

const toBaseLink = (row: LinkRow, shortUrl: string): z.output<typeof baseLink> => ({
  id: encodeId("link", row.id),
  short_url: buildShortUrl(row, shortUrl),
  original_url: row.original_url,
  alias: row.alias,
  title: row.title,
  clicks: row.clicks,
  created_at: row.created_at.toISOString(),
  expires_at: row.expires_at?.toISOString() ?? null,
  last_click_at: row.last_click_at?.toISOString() ?? null,
  domain: row.domain_host,
  tags: row.tags,
  external_id: row.external_id,
  notes: row.notes,
  created_by: row.created_by,
});

const detailsOf = (row: LinkRow) => ({
  unique_clicks: row.unique_clicks,
  updated_at: row.updated_at.toISOString(),
  has_password: row.password_hash !== null,
});

export const toLink = (
  row: LinkRow,
  shortUrl: string,
  included?: Include,
): z.output<typeof linkResponse> => ({
  ...toBaseLink(row, shortUrl),
  ...(included === "settings" ? { ...detailsOf(row), ...querySettingsOf(row) } : {}),
  ...settingsOf(row, Date.now()),
});

export const toFullLink = (
  row: LinkRow,
  shortUrl: string,
  included?: Include,
): z.output<typeof fullLink> => ({
  ...toBaseLink(row, shortUrl),
  ...detailsOf(row),
  ...(included === "settings" ? querySettingsOf(row) : {}),
  ...settingsOf(row, Date.now()),
});

const querySettingsOf = (row: LinkRow) => ({
  forward_query: row.forward_query,
  ...ofEachUtm((name) => row[name]),
});

/**
 * The entity tag of a link: it changes with its version, its counters and, as time passes, its
 * status.
 */
export function linkEtag(row: LinkRow): string {
  const status = statusOf(row, Date.now());
  const left = clicksLeft(row);
  const others = [
    ...(status === "active" ? [] : [status]),
    ...(left === undefined ? [] : [String(left)]),
  ];
  const lastClick = row.last_click_at?.getTime() ?? 0;
  return toEtag(row.version, row.clicks, row.unique_clicks, lastClick, ...others);
}

/** Marks a response whose change is committed but may not have reached the redirectors yet. */
export const propagationHeaders = (propagated: boolean): Record<string, string> =>
  propagated ? {} : { "x-propagation": "pending" };
