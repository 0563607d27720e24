/** Events about links. */
import type { JSONValue } from "postgres";

import type { EventType } from "../../shared/contracts/webhook-schemas.ts";
import { encodeId, type Uuid } from "../../shared/ids.ts";
import { changesBetween, type NewEvent, passwordChange, toJson } from "../events/record.ts";
import type { LinkRow } from "./model.ts";
import { toFullLink } from "./responses.ts";
import { buildShortUrl } from "./short-url.ts";

/** Fields that change by themselves, or with every change. */
const UNRECORDED = ["clicks", "unique_clicks", "last_click_at", "updated_at", "has_password"];

/** The data of an event about a link: the link with all of its fields. */
export const linkData = (row: LinkRow, shortUrl: string): JSONValue => ({
  link: toFullLink(row, shortUrl, "settings"),
});

export const linkEvent = (type: EventType, row: LinkRow, shortUrl: string): NewEvent => ({
  type,
  objectId: row.id,
  linkId: row.id,
  data: linkData(row, shortUrl),
});

/** The event of a change of a link: its deletion without a new state. */
export function changeEvent(old: LinkRow, row: LinkRow | undefined, shortUrl: string): NewEvent {
  if (row === undefined) return linkEvent("link.deleted", old, shortUrl);
  const link = toFullLink(row, shortUrl, "settings");
  const changes = {
    ...changesBetween(toFullLink(old, shortUrl, "settings"), link, UNRECORDED),
    ...passwordChange(old, row),
  };
  return {
    type: "link.updated",
    objectId: row.id,
    linkId: row.id,
    data: toJson({ link, changes }),
  };
}

/** A link that has other tags than `before`. */
export type RetaggedLink = {
  id: Uuid;
  alias: string;
  domain_host: string | null;
  title: string | null;
  tags: string[];
  before: string[];
};

/**
 * The event of a change of the tags of many links: what names the link, and its tags, but not the
 * rest, which can be thousands of times as large.
 */
export const tagsEvent = (row: RetaggedLink, shortUrl: string): NewEvent => ({
  type: "link.updated",
  objectId: row.id,
  linkId: row.id,
  data: {
    link: {
      id: encodeId("link", row.id),
      short_url: buildShortUrl(row, shortUrl),
      title: row.title,
      tags: row.tags,
    },
    changes: { tags: { before: row.before, after: row.tags } },
  },
});

/**
 * The event of a takedown. The operator's command line does not know the domain of short URLs, so
 * the link has none.
 */
export function takedownEvent(row: LinkRow): NewEvent {
  const { short_url: _, ...link } = toFullLink(row, "https://unknown.invalid", "settings");
  return {
    type: row.taken_down ? "link.taken_down" : "link.restored",
    objectId: row.id,
    linkId: row.id,
    data: toJson({ link }),
  };
}
