import {
  CREATED_AT,
  CURSOR,
  DOMAIN_ID,
  EXPIRES_AT,
  KEY_ID,
  LINK_ID,
  LONG_URL,
} from "../../../shared/contracts/examples.ts";
/**
 * Descriptions of all fields of requests and responses: by `Schema.field`, or by `field` if it
 * means the same in all schemas. A description in the schema itself takes precedence.
 */
import { ANALYTICS_FIELDS } from "./analytics-fields.ts";
import { SETTINGS_FIELDS } from "./settings-fields.ts";
import { SHARE_FIELDS } from "./share-fields.ts";
import { TAG_FIELDS } from "./tag-fields.ts";
import type { Prose } from "./types.ts";

const LINK_FIELDS: Readonly<Record<string, Prose>> = {
  "Link.id": { text: "The link's id, for the paths of this API.", example: LINK_ID },
  "FullLink.id": { text: "The link's id, for the paths of this API.", example: LINK_ID },
  "ListedLink.id": { text: "The link's id, for the paths of this API.", example: LINK_ID },
  url: {
    text: "The destination: an absolute http or https URL.",
    example: LONG_URL,
    schema: { maxLength: 8192 },
  },
  short_url: {
    text: "The URL that visitors open.",
    example: "https://short.example.com/spring-sale",
  },
  original_url: { text: "The destination, as it was sent.", example: LONG_URL },
  alias: {
    text: "The path of the short URL: chosen, or seven random characters.",
    example: "spring-sale",
  },
  "NewLink.alias": {
    text: "The path of the short URL: 1 to 64 characters of A–Z, a–z, 0–9, _ and -, not starting with -.",
    example: "spring-sale",
    schema: { maxLength: 64, pattern: "^[A-Za-z0-9_][A-Za-z0-9_-]*$" },
  },
  "LinkUpsert.alias": {
    text: "The path of the short URL; a random one for a new link when left out.",
    example: "spring-sale",
    schema: { maxLength: 64, pattern: "^[A-Za-z0-9_][A-Za-z0-9_-]*$" },
  },
  "LinkUpsert.domain": {
    text: "A verified domain of the account; the service's own when left out.",
    example: "go.example.com",
    schema: { maxLength: 253 },
  },
  "LinkChangeOfMany.alias": {
    text: "A new path of the short URL.",
    example: "spring-sale-2",
    schema: { maxLength: 64, pattern: "^[A-Za-z0-9_][A-Za-z0-9_-]*$" },
  },
  "LinkChange.alias": {
    text: "A new path of the short URL; the old one is free for others at once.",
    example: "spring-sale-2",
    schema: { maxLength: 64, pattern: "^[A-Za-z0-9_][A-Za-z0-9_-]*$" },
  },
  "NewLink.domain": {
    text: "A verified domain of the account; the service's own when left out.",
    example: "go.example.com",
    schema: { maxLength: 253 },
  },
  "Link.domain": { text: "The custom domain; null for the service's own.", example: null },
  "FullLink.domain": { text: "The custom domain; null for the service's own.", example: null },
  "ListedLink.domain": { text: "The custom domain; null for the service's own.", example: null },
  title: {
    text: "A name for people of the account; visitors do not see it.",
    example: "Spring sale",
  },
  tags: {
    text: "Labels to filter links by.",
    example: ["spring", "newsletter"],
  },
  "Link.clicks": {
    text: "All clicks by people, without bots and prefetches; up to a few seconds old.",
    example: 1284,
  },
  "FullLink.clicks": {
    text: "All clicks by people, without bots and prefetches; up to a few seconds old.",
    example: 1284,
  },
  "ListedLink.clicks": {
    text: "All clicks by people, without bots and prefetches; up to a few seconds old.",
    example: 1284,
  },
  "Link.unique_clicks": { text: "Distinct visitors of the link, of all time.", example: 0 },
  "ListedLink.unique_clicks": { text: "Distinct visitors of the link, of all time.", example: 973 },
  "FullLink.unique_clicks": { text: "Distinct visitors of the link, of all time.", example: 973 },
  has_password: { text: "Whether visitors must enter a password.", example: false },
  password: { text: "The password that visitors must enter.", example: "correct horse battery" },
  forward_query: {
    text: "Whether the short URL's own query is passed on to the destination.",
    example: true,
  },
  utm_source: { text: "Set as `utm_source` on the destination's query.", example: "newsletter" },
  utm_medium: { text: "Set as `utm_medium` on the destination's query.", example: "email" },
  utm_campaign: { text: "Set as `utm_campaign` on the destination's query.", example: "spring" },
  utm_term: { text: "Set as `utm_term` on the destination's query.", example: "shoes" },
  utm_content: { text: "Set as `utm_content` on the destination's query.", example: "header" },
  external_id: {
    text: "Your own id of the link, unique within the account and mode.",
    example: "order-4711",
  },
  "LinkChangeOfMany.id": { text: "The id of the link to change.", example: LINK_ID },
  "BulkDeletions.id": { text: "The id of the link.", example: LINK_ID },
  ids: { text: "The ids of the links to delete, none of them twice.", example: [LINK_ID] },
  into: { text: "The tag to rename to, or to merge into.", example: "spring" },
  "MergeTagsRequest.tags": { text: "The tags to replace.", example: ["sprign", "Spring"] },
  changed: { text: "How many links were changed by this request.", example: 17 },
  done: {
    text: "Whether no link has the replaced tags any more; otherwise send it again.",
    example: true,
  },
  "NewLinks.links": { text: "The links to create, each judged alone." },
  index: { text: "The position in the request, from 0.", example: 0 },
  link: { text: "The link." },
  created: { text: "How many links were created.", example: 99 },
  updated: { text: "How many links were changed.", example: 99 },
  deleted: { text: "How many links were deleted.", example: 99 },
  failed: { text: "How many entries failed.", example: 1 },
};

const ERROR_FIELDS: Readonly<Record<string, Prose>> = {
  error: { text: "What went wrong." },
  code: {
    text: "A stable code for programs. New codes may be added: treat an unknown one by the status.",
    example: "invalid_request",
  },
  message: { text: "A sentence for people; its wording may change.", example: "url is required." },
  "Confirmation.message": { text: "A sentence for people.", example: "The link has been deleted." },
  "Confirmation.success": { text: "Always true: failures are errors.", example: true },
  retry_after: { text: "Whole seconds to wait; only with `rate_limited`.", example: 42 },
  param: {
    text: "The field or query parameter that the error is about, with dots for fields of fields.",
    example: "url",
  },
  details: { text: "Every problem that was found in the request, at most 20." },
  doc_url: {
    text: "A page that explains the code.",
    example: "https://api.example.com/docs/errors#invalid_request",
  },
};

const ACCOUNT_FIELDS: Readonly<Record<string, Prose>> = {
  "Domain.id": { text: "The domain's id, for the paths of this API.", example: DOMAIN_ID },
  "DomainVerification.id": { text: "The domain's id.", example: DOMAIN_ID },
  domain: { text: "The domain's name, in ASCII.", example: "go.example.com" },
  "NewDomain.domain": {
    text: "A full domain name, also an internationalized one.",
    example: "go.example.com",
    schema: { maxLength: 253 },
  },
  status: { text: "Whether links can use the domain: once it is verified.", example: "verified" },
  proof_missing_since: {
    text: "Since when the TXT record of a verified domain has not been found. After 7 days another account can verify the domain.",
    example: CREATED_AT,
  },
  root_url: {
    text: "Where `/` of the domain leads; an error page without it.",
    example: "https://www.example.com/",
  },
  not_found_url: {
    text: "Where an alias without a link leads; an error page without it.",
    example: "https://www.example.com/not-found",
  },
  "Domain.expired_url": {
    text: "Where an expired link leads that has no `expired_url` of its own.",
    example: "https://www.example.com/over",
  },
  "DomainVerification.expired_url": {
    text: "Where an expired link leads that has no `expired_url` of its own.",
    example: "https://www.example.com/over",
  },
  "DomainChange.expired_url": {
    text: "Where an expired link leads that has no `expired_url` of its own; null for an error page.",
    example: "https://www.example.com/over",
  },
  case_sensitive: {
    text: "Whether aliases that differ only in case are different; absent in responses while they are. A domain with more than 10,000 links cannot switch.",
    example: false,
  },
  switching: {
    text: "Links are being published under aliases of the other case; until then both lead to them.",
    example: true,
  },
  apple_app_site_association: {
    text: "The file for iOS apps at `/.well-known/apple-app-site-association`; null for none. 16 KiB at most.",
    example: { applinks: { details: [{ appIDs: ["ABCDE12345.com.example.app"] }] } },
  },
  assetlinks: {
    text: "The file for Android apps at `/.well-known/assetlinks.json`; null for none. 16 KiB at most.",
    example: [{ relation: ["delegate_permission/common.handle_all_urls"] }],
  },
  verification: { text: "The DNS record to publish, which proves that the domain is yours." },
  routing: { text: "The DNS record that sends visitors of the domain to the service." },
  "DnsRecord.name": { text: "The name of the record.", example: "_shorthop.go.example.com" },
  "DnsRecord.type": { text: "The type of the record.", example: "TXT" },
  value: {
    text: "The content of the record.",
    example: "shorthop-verification=7f3a9c51d2e84b607f3a9c51d2e84b607f3a9c51",
  },
  "RoutingRecord.name": { text: "The name of the record.", example: "go.example.com" },
  "RoutingRecord.type": { text: "The type of the record.", example: "CNAME" },
  "RoutingRecord.value": { text: "The content of the record.", example: "short.example.com" },
  verified_at: { text: "When the record was found; null while it was not.", example: CREATED_AT },
  problem: {
    text: "Why the domain is still pending; null when it is verified.",
    example: "There is no TXT record at _shorthop.go.example.com.",
  },
  "ApiKey.id": { text: "The key's id, for the paths of this API.", example: KEY_ID },
  "ApiKeyWithValue.id": { text: "The key's id, for the paths of this API.", example: KEY_ID },
  key: {
    text: "The key itself. Only this response has it: store it now.",
    example: "sk_live_4fTq…",
  },
  prefix: { text: "The beginning of the key, to recognise it by.", example: "sk_live_4fTq" },
  name: { text: "A name for people.", example: "CI" },
  type: { text: "`live` for real data, `test` for development.", example: "live" },
  "NewApiKey.type": {
    text: "`live` or `test`; that of the calling key when left out. No key creates one of the other type.",
    example: "live",
  },
  scopes: { text: "What the key may do.", example: ["links:read", "links:write"] },
  last_used_at: {
    text: "When the key was last used, to within a minute; null for never.",
    example: CREATED_AT,
  },
  revoked_at: { text: "When the key was revoked; null for a valid one.", example: null },
  grace_seconds: {
    text: "How many seconds the old key stays valid, at most a week.",
    example: 3600,
  },
  plan: { text: "The account's plan.", example: "pro" },
  limits: { text: "The windows of the rate limits that have begun." },
  quotas: {
    text: "What the account may create or hold, through the API and the dashboard together.",
  },
  "RateLimit.name": {
    text: "`minute`, `day`, `burst`, or the endpoint with a limit of its own.",
    example: "minute",
  },
  "RateLimit.limit": { text: "Requests that the window grants.", example: 300 },
  "RateLimit.remaining": { text: "Requests left in the window.", example: 288 },
  "RateLimit.window": { text: "The window's length in seconds.", example: 60 },
  "RateLimit.reset": { text: "When the window closes, in Unix seconds.", example: 1_782_907_260 },
  "Quota.name": { text: "What is counted. More may be added.", example: "links_per_day" },
  "Quota.kind": { text: "`window`: created within a time; `total`: at once.", example: "window" },
  "Quota.limit": { text: "The most that the account may have.", example: 5000 },
  "Quota.remaining": { text: "What is left of it.", example: 4711 },
  "Quota.window": { text: "The window's length in seconds; null for a total.", example: 86_400 },
  "Quota.reset": {
    text: "When the window closes, in Unix seconds; null for a total.",
    example: 1_782_950_400,
  },
};

const SHARED_FIELDS: Readonly<Record<string, Prose>> = {
  created_at: { text: "When it was created.", example: CREATED_AT },
  updated_at: { text: "When it was last changed.", example: CREATED_AT },
  expires_at: { text: "When it stops working; null for never.", example: EXPIRES_AT },
  data: { text: "The entries of this page, in order." },
  "BulkLinks.data": { text: "One entry for each link, in the order of the request." },
  pagination: { text: "Where the page is in the list." },
  page: { text: "The number of the page, from 1.", example: 1 },
  limit: { text: "The most entries of a page.", example: 20 },
  total: { text: "The number of all entries.", example: 42 },
  total_pages: { text: "The number of pages.", example: 3 },
  total_is_estimate: {
    text: "Present where `total` is about right only: more than 100,000 entries match, or a search that no index helps with looked only at the first 100,000 links (30,000 by clicks).",
    example: true,
  },
  next_cursor: {
    text: "Send it as `starting_after` for the next page; null on the last one.",
    example: CURSOR,
  },
};

export const FIELDS: Readonly<Record<string, Prose>> = {
  ...LINK_FIELDS,
  ...ERROR_FIELDS,
  ...ACCOUNT_FIELDS,
  ...SHARED_FIELDS,
  ...SETTINGS_FIELDS,
  ...SHARE_FIELDS,
  ...TAG_FIELDS,
  ...ANALYTICS_FIELDS,
};
