/**
 * Descriptions of all parameters: by `operation.parameter`, or by name if it means the same in all
 * operations.
 */
import {
  CURSOR,
  DOMAIN_ID,
  KEY_ID,
  LINK_ID,
  LONG_URL,
  SHARE_ID,
  SHARE_TOKEN,
} from "../../../shared/contracts/examples.ts";
import type { Prose } from "./types.ts";

/** An id by the TypeID specification: a prefix, and a UUIDv7 in Crockford's base 32. */
const idPattern = (prefix: string): string => `^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`;

const domain: Prose = {
  text: "The domain's id.",
  example: DOMAIN_ID,
  schema: { pattern: idPattern("dom"), maxLength: 30 },
};

const key: Prose = {
  text: "The key's id, not its value.",
  example: KEY_ID,
  schema: { pattern: idPattern("key"), maxLength: 30 },
};

const share: Prose = {
  text: "The share's id, not its token.",
  example: SHARE_ID,
  schema: { pattern: idPattern("shr"), maxLength: 30 },
};

const link: Prose = {
  text: "The link's id.",
  example: LINK_ID,
  schema: { pattern: idPattern("link"), maxLength: 31 },
};

export const PARAMETERS: Readonly<Record<string, Prose>> = {
  id: link,
  link_id: link,
  "getDomain.id": domain,
  "deleteDomain.id": domain,
  "updateDomain.id": domain,
  "verifyDomain.id": domain,
  "getApiKey.id": key,
  "getShare.id": share,
  "updateShare.id": share,
  "revokeShare.id": share,
  token: {
    text: "The token in the share's URL.",
    example: SHARE_TOKEN,
    schema: { maxLength: 43 },
  },
  "getFailures.link_id": {
    text: "Only requests for this link; without unknown aliases.",
    example: LINK_ID,
    schema: { pattern: idPattern("link"), maxLength: 31 },
  },
  "getFailures.domain": { text: "Only requests on this domain.", example: "go.example.com" },
  "getSharedStatistics.period": {
    text: "The last 24 hours, 7, 30 or 90 days including today, or all time. `30d` when left out.",
    example: "7d",
  },
  "X-Share-Access": {
    text: "The access token of `unlockSharedStatistics`; only for statistics with a password.",
    example: "1772446500.q1Zt…",
    schema: { maxLength: 64 },
  },
  "revokeApiKey.id": key,
  "rotateApiKey.id": key,
  page: { text: "The page, from 1. Pages after the last one are empty.", example: 1 },
  limit: { text: "The most entries to return.", example: 20 },
  starting_after: {
    text: "The `next_cursor` of the previous page. Entries created or deleted meanwhile neither shift nor repeat others.",
    example: CURSOR,
  },
  search: { text: "Text that title, alias or URL contains, ignoring case.", example: "spring" },
  tag: {
    text: "Only links with this tag.",
    example: "spring",
  },
  alias: { text: "Only the link with this alias.", example: "spring-sale" },
  domain: { text: "Only links of this domain.", example: "go.example.com" },
  url: { text: "Only links to this destination.", example: LONG_URL },
  external_id: { text: "Your own id of the link.", example: "order-4711" },
  created_after: {
    text: "Only links created at or after this time.",
    example: "2026-01-01T00:00:00Z",
  },
  created_before: { text: "Only links created before this time.", example: "2026-04-01T00:00:00Z" },
  expired: {
    text: "Only links that have expired (`true`) or have not (`false`).",
    example: "false",
  },
  archived: {
    text: "Only archived links (`true`), or archived and others (`any`). Without it, only others.",
    example: "any",
  },
  sort: { text: "What to sort by; links with the same value by id.", example: "created_at" },
  order: { text: "`desc` for the latest or most clicked first.", example: "desc" },
  name: { text: "The tag, percent-encoded.", example: "spring", schema: { maxLength: 50 } },
  "listTags.search": { text: "Text that the name contains, ignoring case.", example: "spr" },
  "listTags.sort": {
    text: "By name, or those with the most links or clicks first; tags with the same value by name.",
    example: "links",
  },
  "listTags.starting_after": {
    text: "The `next_cursor` of the previous page, with the same `sort`.",
    example: CURSOR,
  },
  format: { text: "The format of the image.", example: "svg" },
  size: { text: "Width and height in pixels.", example: 256 },
  error_correction: { text: "How much of the code may be covered.", example: "M" },
  margin: { text: "Quiet zone in modules.", example: 4 },
  period: {
    text: "The last 24 hours, 7, 30 or 90 days including today, or all time. `30d` when neither it nor dates are sent; ignored beside dates.",
    example: "7d",
  },
  start_date: {
    text: "The first day (`2026-01-31`, in `timezone`) or the instant (`2026-01-31T12:00:00Z`) at which the range begins. 30 days before `end_date` when left out.",
    example: "2026-03-01",
    schema: { maxLength: 64 },
  },
  end_date: {
    text: "The last day, whole, or the instant before which the range ends; now when left out. At most five years after `start_date`.",
    example: "2026-03-31",
    schema: { maxLength: 64 },
  },
  "getSharedStatistics.start_date": {
    text: "The first day of the range. 30 days before `end_date` when left out.",
    example: "2026-03-01",
  },
  "getSharedStatistics.end_date": {
    text: "The last day of the range; today when left out. At most five years after `start_date`.",
    example: "2026-03-31",
  },
  "getSharedStatistics.timezone": {
    text: "The IANA time zone whose days and hours group the clicks; that of the share when left out.",
    example: "Europe/Berlin",
    schema: { maxLength: 64 },
  },
  timezone: {
    text: "The IANA time zone whose days and hours group the clicks; `UTC` when left out.",
    example: "Europe/Berlin",
    schema: { maxLength: 64 },
  },
  by: {
    text: "One dimension, or two separated by a comma.",
    example: "country,device",
  },
  compare: {
    text: "Adds the figures of the period of equal length before (`previous`; of whole calendar months, the months before), or of the one a year earlier (`year`). A period that is not over is compared up to the same local time of the earlier one.",
    example: "previous",
  },
  group_by: { text: "Whether to group by country, region or city.", example: "country" },
  "Idempotency-Key": {
    text: "Makes the request safe to retry: for 24 hours, the same key with the same body returns the first response.",
    example: "5f0c1d1e-3c1b-4c0e-9d53-1f4f8f0f6f0a",
  },
  "If-Match": {
    text: "The `ETag` of the version that you have read: 412 if it has changed.",
    example: '"7"',
    schema: { maxLength: 256 },
  },
  "If-None-Match": {
    text: "The `ETag` of a response that you have: 304 if it is the same.",
    example: '"7"',
    schema: { maxLength: 256 },
  },
  "Last-Event-ID": {
    text: "The id of the last event that was received, to resume after it.",
    example: "1772442907318.0199d3e2-7f6a-7cc1-9d7a-3c1b4e2f8a10.12.3",
    schema: { maxLength: 128 },
  },
};
