/**
 * Shlink's API, `/rest/v3/…` (https://api-spec.shlink.io), as of Shlink 4.5. Errors are problem
 * details (RFC 9457).
 */
import * as z from "zod";

import { TAG_LENGTH_MAX } from "../../shared/contracts/link-schemas.ts";
import { failuresResponse } from "../analytics/failures.ts";
import { accountResponse } from "../analytics/responses.ts";
import { domainListResponse, domainResponse } from "../domains/model.ts";
import { successResponse } from "../http/common-schemas.ts";
import { ApiError, invalidField, notFound } from "../http/errors.ts";
import { PAGE_SIZE_MAX } from "../http/pagination.ts";
import { fullLink, linkListResponse, linkResponse } from "../links/responses.ts";
import { changedTagResponse, progressResponse, tagListResponse } from "../tags/model.ts";
import { rulesBody, toConditions, toRules } from "./shlink-rules.ts";
import { listVisits, paginationOf, toSummary } from "./shlink-visits.ts";
import {
  type CompatibleApi,
  type CompatResponse,
  decodePath,
  describe,
  type Failure,
  type Names,
  type Query,
  toFields,
  toJson,
  type V1,
} from "./v1.ts";

/**
 * The beginning of paths. Tools name the version of their time, and Shlink serves all of them
 * alike but for the types of errors, which are those of version 3 here.
 */
const ROOT = /^\/rest\/v[1-3]\//;

/** Monitors ask without a version and a key. */
const HEALTH = "/rest/health";

/** The version of Shlink whose calls these are: its clients offer what it has. */
const VERSION = "4.5.0";

/** Maximum pages of `/v1` in a list that Shlink has as a whole. */
const PAGES_MAX = 10;

/** Repetitions of a change of a tag, each of which changes 10,000 links. */
const TAG_CHANGES_MAX = 10;

export const shlink: CompatibleApi = {
  serves: (path) => path.startsWith("/rest/"),

  async respond(v1) {
    const { pathname } = v1.url;
    try {
      const path = ROOT.test(pathname) ? decodePath(pathname.replace(ROOT, "")) : "";
      if (pathname === HEALTH || path === "health") return await readHealth(v1);
      v1.authorize(v1.request.headers.get("x-api-key"));
      for (const [method, pattern, act] of ROUTES) {
        const found = method === v1.request.method ? pattern.exec(path) : null;
        if (found !== null) return await act(v1, found.groups?.["name"] ?? "");
      }
      throw notFound("resource");
    } catch (error) {
      return toFailed(v1, await v1.explain(error));
    }
  },
};

type Act = (v1: V1, name: string) => Promise<CompatResponse>;

/** The first that matches acts; `name` is a short code, a tag or a domain, with any slashes. */
const ROUTES: readonly (readonly [method: string, path: RegExp, act: Act])[] = [
  ["GET", /^short-urls$/, listShortUrls],
  ["POST", /^short-urls$/, createShortUrl],
  ["GET", /^short-urls\/(?<name>.+)\/visits$/, readShortUrlVisits],
  ["GET", /^short-urls\/(?<name>.+)\/redirect-rules$/, readRules],
  ["POST", /^short-urls\/(?<name>.+)\/redirect-rules$/, setRules],
  ["GET", /^short-urls\/(?<name>.+)$/, readShortUrl],
  ["PATCH", /^short-urls\/(?<name>.+)$/, editShortUrl],
  ["DELETE", /^short-urls\/(?<name>.+)$/, deleteShortUrl],
  ["GET", /^tags$/, (v1) => respondWithTags(v1, ({ name }) => name)],
  ["PUT", /^tags$/, renameTag],
  ["DELETE", /^tags$/, deleteTags],
  ["GET", /^tags\/stats$/, listTagStats],
  ["GET", /^tags\/(?<name>.+)\/visits$/, (v1, tag) => listVisits(v1, { tag })],
  ["GET", /^domains$/, listDomains],
  ["PATCH", /^domains\/redirects$/, setRedirects],
  ["GET", /^domains\/(?<name>[^/]+)\/visits$/, readDomainVisits],
  ["GET", /^visits$/, readOverview],
  ["GET", /^visits\/non-orphan$/, (v1) => listVisits(v1, {})],
  ["GET", /^visits\/orphan$/, countOrphans],
  ["GET", /^mercure-info$/, refuseMercure],
];

async function readHealth(v1: V1): Promise<CompatResponse> {
  await v1.get(z.object({ status: z.literal("ok") }), "/healthz");
  return toJson(200, { status: "pass", version: VERSION, links: {} });
}

// ---- Short URLs

type Link = z.output<typeof linkResponse>;

const ORDERS = ["dateCreated-DESC", "dateCreated-ASC", "visits-DESC", "visits-ASC"] as const;

const listQuery = z.object({
  page: z.coerce.number().int().min(1).default(1),
  /** -1 for all; a page has as many as `/v1` gives. */
  itemsPerPage: z.coerce.number().int().min(-1).default(20),
  searchTerm: z.string().optional(),
  domain: z.string().optional(),
  tagsMode: z.enum(["any", "all"]).default("any"),
  orderBy: z
    .string()
    .transform((order) => order.replace("nonBotVisits", "visits"))
    .pipe(z.enum(ORDERS))
    .default("dateCreated-DESC"),
  startDate: z.string().optional(),
  endDate: z.string().optional(),
  excludePastValidUntil: z.enum(["true", "false"]).optional(),
  excludeMaxVisitsReached: z.literal("false").optional(),
});

async function listShortUrls(v1: V1): Promise<CompatResponse> {
  const query = v1.readQuery(listQuery);
  const tags = v1.url.searchParams.getAll("tags[]");
  if (tags.length > 1 && query.tagsMode === "any")
    throw invalidField("tagsMode", "must be all for several tags");
  const limit =
    query.itemsPerPage < 1 ? PAGE_SIZE_MAX : Math.min(query.itemsPerPage, PAGE_SIZE_MAX);
  const [sort, order] = query.orderBy.split("-");
  const { data, pagination } = await v1.get(linkListResponse, "/v1/links", {
    page: query.page,
    limit,
    include: "settings",
    search: query.searchTerm,
    tag: tags,
    domain: query.domain === undefined ? undefined : toHost(v1, query.domain),
    sort: sort === "visits" ? "clicks" : "created_at",
    order: order?.toLowerCase(),
    created_after: query.startDate,
    created_before: query.endDate,
    expired: query.excludePastValidUntil === "true" ? "false" : undefined,
  });
  const total = pagination?.total ?? data.length;
  return toJson(200, {
    shortUrls: {
      data: data.map(toShortUrl),
      pagination: paginationOf(query.page, limit, data.length, total),
    },
  });
}

/** Names of the service's own domain in Shlink, which may be left out, too. */
const OWN_DOMAIN: ReadonlySet<string> = new Set(["", "DEFAULT"]);

/** The host of a domain that a request names. */
const toHost = (v1: V1, domain: string | null | undefined): string =>
  domain === undefined || domain === null || OWN_DOMAIN.has(domain) ? v1.shortUrl.hostname : domain;

const toShortUrl = (link: Link) => ({
  shortCode: link.alias,
  shortUrl: link.short_url,
  longUrl: link.original_url,
  dateCreated: link.created_at,
  visitsSummary: toSummary(link.clicks),
  tags: link.tags,
  meta: {
    validSince: link.starts_at ?? null,
    validUntil: link.expires_at,
    maxVisits: link.max_clicks ?? null,
  },
  domain: link.domain,
  title: link.title,
  crawlable: false,
  forwardQuery: link.forward_query ?? false,
  hasRedirectRules: (link.rules ?? []).length > 0,
});

const INCLUDE = "?include=settings";

const NAMES: Names = new Map([
  ["longUrl", "url"],
  ["customSlug", "alias"],
  ["title", "title"],
  ["tags", "tags"],
  ["forwardQuery", "forward_query"],
  ["validSince", "starts_at"],
  ["validUntil", "expires_at"],
  ["maxVisits", "max_clicks"],
]);

/** Fields without a meaning here are ignored, as the validation of the URL is by Shlink itself. */
const shortUrlBody = z.looseObject({
  longUrl: z.string().optional(),
  customSlug: z.string().optional(),
  tags: z.array(z.string()).optional(),
  domain: z.string().nullish(),
  findIfExists: z.boolean().optional(),
  crawlable: z.literal(false, "must be false: no link is listed for crawlers").optional(),
  pathPrefix: z.literal("", "is not supported").optional(),
});

async function createShortUrl(v1: V1): Promise<CompatResponse> {
  const body = await v1.readBody(shortUrlBody);
  const { longUrl = "", customSlug: alias, tags } = body;
  const domain = toHost(v1, body.domain);
  if (body.findIfExists === true) {
    const alike = { alias, tag: tags, domain, limit: 1 };
    const [known] = await v1.findLinksTo(longUrl, alike);
    if (known !== undefined) return toJson(200, toShortUrl(known));
  }
  // As Shlink does by default; its client never sends false.
  const link = { forward_query: true, ...toFields(body, NAMES), domain };
  const path = `/v1/links${INCLUDE}`;
  return toJson(200, toShortUrl(await v1.send(linkResponse, "POST", path, link)));
}

/** The link that a path and the query's domain name. */
const findLink = (v1: V1, shortCode: string) =>
  v1.findLink(shortCode, toHost(v1, v1.url.searchParams.get("domain")));

async function readShortUrl(v1: V1, shortCode: string): Promise<CompatResponse> {
  return toJson(200, toShortUrl(await findLink(v1, shortCode)));
}

async function editShortUrl(v1: V1, shortCode: string): Promise<CompatResponse> {
  const { customSlug: _, ...body } = await v1.readBody(shortUrlBody);
  const link = await findLink(v1, shortCode);
  const { expires_at, ...fields } = toFields(body, NAMES);
  // Clients send what they have read, also an instant that is over.
  const isSame = Date.parse(String(expires_at)) === Date.parse(link.expires_at ?? "");
  const changes = isSame ? fields : { ...fields, expires_at };
  const path = `/v1/links/${link.id}${INCLUDE}`;
  return toJson(200, toShortUrl(await v1.send(fullLink, "PATCH", path, changes)));
}

async function deleteShortUrl(v1: V1, shortCode: string): Promise<CompatResponse> {
  const { id } = await findLink(v1, shortCode);
  await v1.send(successResponse, "DELETE", `/v1/links/${id}`);
  return NOTHING;
}

const NOTHING: CompatResponse = { status: 204, type: "", body: "" };

async function readRules(v1: V1, shortCode: string): Promise<CompatResponse> {
  return toJson(200, describeRules(await findLink(v1, shortCode)));
}

const describeRules = ({ original_url, rules = [] }: Link) => ({
  defaultLongUrl: original_url,
  redirectRules: rules
    .map(({ url, conditions }) => ({ longUrl: url, conditions: toConditions(conditions) }))
    .filter(({ conditions }) => conditions !== undefined)
    .map((rule, i) => ({ priority: i + 1, ...rule })),
});

async function setRules(v1: V1, shortCode: string): Promise<CompatResponse> {
  const rules = toRules(await v1.readBody(rulesBody));
  const link = await findLink(v1, shortCode);
  if ((link.rules ?? []).some(({ conditions }) => toConditions(conditions) === undefined)) {
    const message = "The link has rules that Shlink does not know, and that would be lost.";
    throw new ApiError("conflict", message);
  }
  const path = `/v1/links/${link.id}${INCLUDE}`;
  return toJson(200, describeRules(await v1.send(fullLink, "PATCH", path, { rules })));
}

// ---- Visits

async function readShortUrlVisits(v1: V1, shortCode: string): Promise<CompatResponse> {
  const { id } = await findLink(v1, shortCode);
  return await listVisits(v1, { link_id: id });
}

function readDomainVisits(v1: V1, domain: string): Promise<CompatResponse> {
  return listVisits(v1, { domain: toHost(v1, domain) });
}

async function readOverview(v1: V1): Promise<CompatResponse> {
  const query = { period: "all", limit: 1 };
  const { summary } = await v1.get(accountResponse, "/v1/analytics", query);
  return toJson(200, {
    visits: {
      nonOrphanVisits: toSummary(summary.total_clicks),
      orphanVisits: toSummary(await readOrphans(v1)),
    },
  });
}

async function readOrphans(v1: V1): Promise<number> {
  const query = { period: "all", limit: 1 };
  const { summary } = await v1.get(failuresResponse, "/v1/analytics/failures", query);
  return summary.unknown_alias;
}

/** Requests for aliases without a link are only counted. */
async function countOrphans(v1: V1): Promise<CompatResponse> {
  const total = await readOrphans(v1);
  const pagination = { ...paginationOf(1, PAGE_SIZE_MAX, 0, 0), totalItems: total };
  return toJson(200, { visits: { data: [], pagination } });
}

// ---- Tags and domains

/** The entries of a list of `/v1`, some at most. */
async function readAll<Item>(
  v1: V1,
  schema: z.ZodType<{ data: Item[]; next_cursor: string | null }>,
  path: string,
): Promise<Item[]> {
  const items: Item[] = [];
  let starting_after: string | null = "";
  for (let page = 0; page < PAGES_MAX && starting_after !== null; page++) {
    const query: Query = { limit: PAGE_SIZE_MAX, starting_after };
    const { data, next_cursor } = await v1.get(schema, path, query);
    items.push(...data);
    starting_after = next_cursor;
  }
  return items;
}

type Tag = z.output<typeof tagListResponse>["data"][number];

/** All tags, in the form of `toEntry`. */
async function respondWithTags(v1: V1, toEntry: (tag: Tag) => unknown): Promise<CompatResponse> {
  const tags = await readAll(v1, tagListResponse, "/v1/tags");
  const pagination = paginationOf(1, Math.max(1, tags.length), tags.length, tags.length);
  return toJson(200, { tags: { data: tags.map(toEntry), pagination } });
}

function listTagStats(v1: V1): Promise<CompatResponse> {
  return respondWithTags(v1, ({ name, links, clicks }) => ({
    tag: name,
    shortUrlsCount: links,
    visitsSummary: toSummary(clicks ?? 0),
  }));
}

async function finish(change: (again: boolean) => Promise<{ done: boolean }>): Promise<void> {
  for (let i = 0; i < TAG_CHANGES_MAX; i++) if ((await change(i > 0)).done) return;
  throw new ApiError("unavailable", "The tag is on very many links: repeat the request.");
}

async function renameTag(v1: V1): Promise<CompatResponse> {
  const { oldName, newName } = await v1.readBody(
    z.object({ oldName: z.string().max(TAG_LENGTH_MAX), newName: z.string() }),
  );
  await finish((again) =>
    v1.send(changedTagResponse, "PATCH", tagPath(oldName), {
      name: newName,
      ...(again ? { merge: true } : {}),
    }),
  );
  return NOTHING;
}

const tagPath = (name: string): string => `/v1/tags/${encodeURIComponent(name)}`;

async function deleteTags(v1: V1): Promise<CompatResponse> {
  const names = v1.url.searchParams.getAll("tags[]");
  if (names.length > PAGES_MAX) throw invalidField("tags", `must be ${PAGES_MAX} at most`);
  for (const name of names) await finish(() => v1.send(progressResponse, "DELETE", tagPath(name)));
  return NOTHING;
}

type Domain = z.output<typeof domainResponse>;

async function findDomains(v1: V1): Promise<Domain[]> {
  const domains = await readAll(v1, domainListResponse, "/v1/domains");
  return domains.filter(({ status }) => status === "verified");
}

type Redirects = { root_url?: string | undefined; not_found_url?: string | undefined };

const toRedirects = ({ root_url, not_found_url }: Redirects) => ({
  baseUrlRedirect: root_url ?? null,
  regular404Redirect: null,
  invalidShortUrlRedirect: not_found_url ?? null,
});

async function listDomains(v1: V1): Promise<CompatResponse> {
  const toDomain = (domain: string, isDefault: boolean, redirects: Redirects) => ({
    domain,
    isDefault,
    redirects: toRedirects(redirects),
  });
  const others = (await findDomains(v1)).map((other) => toDomain(other.domain, false, other));
  const data = [toDomain(v1.shortUrl.host, true, {}), ...others];
  return toJson(200, { domains: { data, defaultRedirects: toRedirects({}) } });
}

const redirectsBody = z.object({
  domain: z.string(),
  baseUrlRedirect: z.string().nullish(),
  invalidShortUrlRedirect: z.string().nullish(),
  regular404Redirect: z.null("must be null: invalidShortUrlRedirect is for all paths").optional(),
});

async function setRedirects(v1: V1): Promise<CompatResponse> {
  const body = await v1.readBody(redirectsBody);
  const found = (await findDomains(v1)).find(({ domain }) => domain === body.domain);
  if (found === undefined) throw notFound("domain");
  const changed = await v1.send(domainResponse, "PATCH", `/v1/domains/${found.id}`, {
    root_url: body.baseUrlRedirect,
    not_found_url: body.invalidShortUrlRedirect,
  });
  return toJson(200, toRedirects(changed));
}

// ---- Errors

async function refuseMercure(v1: V1): Promise<CompatResponse> {
  await v1.requireKey();
  return toProblem(501, "mercure-not-configured", "There is no Mercure hub.");
}

/** A problem, whose title is its type in words. */
function toProblem(
  status: number,
  type: string,
  detail: string,
  more: object = {},
): CompatResponse {
  const title = type.charAt(0).toUpperCase() + type.slice(1).replaceAll("-", " ");
  const problem = { type: `https://shlink.io/api/error/${type}`, title, detail, status, ...more };
  return toJson(status, problem, "application/problem+json");
}

function toFailed({ request, url }: V1, failure: Failure): CompatResponse {
  const { code } = failure.error;
  const { field, message } = describe(failure, NAMES);
  const [, resource = ""] = /^([\w-]+)/.exec(url.pathname.replace(ROOT, "")) ?? [];
  const type =
    code === "unauthorized" && !request.headers.has("x-api-key")
      ? "missing-authentication"
      : code === "not_found" && NAMED.has(resource)
        ? `${resource.slice(0, -1)}-not-found`
        : (TYPES.get(code) ??
          (failure.status === 400 ? "invalid-data" : code.replaceAll("_", "-")));
  const more = field === undefined ? {} : { invalidElements: [field] };
  return toProblem(failure.status, type, message, more);
}

/** The resources that have paths. */
const NAMED: ReadonlySet<string> = new Set(["short-urls", "tags", "domains"]);

/** Shlink's types of errors that it has too. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ["alias_taken", "non-unique-slug"],
  ["key_revoked", "invalid-api-key"],
  ["tag_taken", "tag-conflict"],
  ["unauthorized", "invalid-api-key"],
]);
