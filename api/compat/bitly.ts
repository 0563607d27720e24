/**
 * Version 4 of Bitly's API, `/v4/…` (https://dev.bitly.com/api-reference). A link is named by its
 * short URL without a scheme, such as `sho.rt/abc`; `bit.ly` stands for the service's own domain.
 */
import * as z from "zod";

import { normalizeInstant } from "../../shared/contracts/text-schemas.ts";
import { SPAN_YEARS_MAX } from "../analytics/period.ts";
import { geoResponse, referrersResponse, summaryResponse } from "../analytics/responses.ts";
import { notFound } from "../http/errors.ts";
import { PAGE_SIZE_MAX } from "../http/pagination.ts";
import { fullLink, linkResponse } from "../links/responses.ts";
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

const ROOT = "/v4/";

/** Domains of Bitly, which its clients send unless they are told another. */
const BITLY_DOMAINS: ReadonlySet<string> = new Set(["bit.ly", "bitly.com", "j.mp"]);

/** An account has one group, which clients ask for before they create a link. */
const GROUP = "default";

export const bitly: CompatibleApi = {
  serves: (path) => path.startsWith(ROOT),

  async respond(v1) {
    const { headers, method } = v1.request;
    try {
      // Some clients send the bare token.
      v1.authorize(headers.get("authorization")?.replace(/^bearer +/i, ""));
      const path = decodePath(v1.url.pathname.slice(ROOT.length));
      const act = ACTIONS.get(`${method} ${path}`);
      return await (act === undefined ? actOnLink(v1, path) : act(v1));
    } catch (error) {
      return toFailed(await v1.explain(error));
    }
  },
};

type Act = (v1: V1) => Promise<CompatResponse>;

const ACTIONS: ReadonlyMap<string, Act> = new Map<string, Act>([
  ["POST shorten", shorten],
  ["POST expand", expand],
  ["POST bitlinks", create],
  ["GET user", (v1) => respondWith(v1, USER)],
  ["GET groups", (v1) => respondWith(v1, { groups: [toGroup(v1)] })],
  [`GET groups/${GROUP}`, (v1) => respondWith(v1, toGroup(v1))],
]);

/**
 * Resources below a link, `bitlinks/<link>/…`, by their names. An alias may have slashes, so
 * these names are looked for at the end.
 */
const STATISTICS: ReadonlyMap<string, (v1: V1, id: string) => Promise<CompatResponse>> = new Map([
  ["clicks", readClicks],
  ["clicks/summary", readTotal],
  ["countries", readCountries],
  ["referrers", readReferrers],
]);

const BITLINK = /^(?:https?:\/\/)?(?<host>[^/]+)\/(?<alias>.+)$/;

async function actOnLink(v1: V1, path: string): Promise<CompatResponse> {
  const { method } = v1.request;
  const asked = path.startsWith("bitlinks/") ? path.slice("bitlinks/".length) : "";
  const statistic = [...STATISTICS.keys()].find((name) => asked.endsWith(`/${name}`));
  const id = statistic === undefined ? asked : asked.slice(0, -statistic.length - 1);
  const { host = "", alias = "" } = BITLINK.exec(id)?.groups ?? {};
  if (method === "PATCH" && statistic === undefined) return await change(v1, host, alias);
  if (method !== "GET") throw notFound("resource");
  const read = statistic === undefined ? undefined : STATISTICS.get(statistic);
  const link = await findLink(v1, host, alias);
  return read === undefined ? toJson(200, toBitlink(link)) : await read(v1, link.id);
}

/** The domain of a host that a client names; undefined for Bitly's, which is the service's own. */
const toDomain = (host: string | undefined): string | undefined =>
  host === undefined || BITLY_DOMAINS.has(host) ? undefined : host;

const findLink = (v1: V1, host: string, alias: string): Promise<Link> =>
  v1.findLink(decodePath(alias), toDomain(host));

type Link = z.output<typeof linkResponse>;

/** Fields that Bitly may add are ignored, and so is the group. */
const linkBody = z.looseObject({
  domain: z.string().optional(),
  deeplinks: z.array(z.unknown()).max(0, "must be empty: rules of /v1 lead into apps").optional(),
});

const NAMES: Names = new Map([
  ["long_url", "url"],
  ["keyword", "alias"],
  ["title", "title"],
  ["tags", "tags"],
  ["expiration_at", "expires_at"],
  ["archived", "archived"],
]);

/** Returns the link that the destination has already, as Bitly does; otherwise creates one. */
async function shorten(v1: V1): Promise<CompatResponse> {
  const { long_url, domain: host } = await v1.readBody(linkBody);
  const domain = toDomain(host);
  const conditions = { limit: 1, domain: domain ?? v1.shortUrl.hostname };
  const [known] = typeof long_url === "string" ? await v1.findLinksTo(long_url, conditions) : [];
  if (known !== undefined) return toJson(200, toBitlink(known));
  const body = { url: long_url, domain };
  return toJson(201, toBitlink(await v1.send(linkResponse, "POST", "/v1/links", body)));
}

async function create(v1: V1): Promise<CompatResponse> {
  const sent = await v1.readBody(linkBody);
  const body = { ...toFields(sent, NAMES), domain: toDomain(sent.domain) };
  return toJson(201, toBitlink(await v1.send(linkResponse, "POST", "/v1/links", body)));
}

async function change(v1: V1, host: string, alias: string): Promise<CompatResponse> {
  const { keyword: _, ...body } = await v1.readBody(linkBody);
  const { id } = await findLink(v1, host, alias);
  const changes = toFields(body, NAMES);
  return toJson(200, toBitlink(await v1.send(fullLink, "PATCH", `/v1/links/${id}`, changes)));
}

async function expand(v1: V1): Promise<CompatResponse> {
  const { bitlink_id } = await v1.readBody(z.object({ bitlink_id: z.string() }));
  const { host = "", alias = "" } = BITLINK.exec(bitlink_id)?.groups ?? {};
  const { created_at, link, id, long_url } = toBitlink(await findLink(v1, host, alias));
  return toJson(200, { created_at, link, id, long_url });
}

const toBitlink = (link: Link) => ({
  created_at: toDate(link.created_at),
  id: link.short_url.replace(/^https?:\/\//, ""),
  link: link.short_url,
  custom_bitlinks: [],
  long_url: link.original_url,
  title: link.title ?? "",
  archived: link.archived === true,
  created_by: link.created_by ?? "",
  tags: link.tags,
  deeplinks: [],
  references: { group: `${ROOT}groups/${GROUP}` },
});

/** An instant as Bitly writes it. */
const toDate = (instant: string): string =>
  `${instant.slice(0, "2026-01-31T12:00:00".length)}+0000`;

const USER = {
  login: "shorthop",
  name: "Shorthop",
  is_active: true,
  emails: [],
  default_group_guid: GROUP,
};

const toGroup = ({ shortUrl }: V1) => ({
  guid: GROUP,
  name: "Shorthop",
  organization_guid: GROUP,
  is_active: true,
  bsds: [shortUrl.host],
});

/** Responds with what is the same for every key that works. */
async function respondWith(v1: V1, value: object): Promise<CompatResponse> {
  await v1.requireKey();
  return toJson(200, value);
}

// ---- Statistics

const statisticsQuery = z.object({
  unit: z.enum(["day", "week", "month"]).default("day"),
  /** -1 for all. */
  units: z.coerce.number().int().min(-1).max(2_000).default(-1),
  size: z.coerce.number().int().min(1).default(50),
  unit_reference: z
    .string()
    .overwrite(normalizeInstant)
    .refine((text) => isOfClicks(new Date(text).getUTCFullYear()), "must be a date and time")
    .transform((text) => new Date(text))
    .optional(),
});

/** Whether clicks can be of a year; NaN, of a text that is not a date, is none. */
const isOfClicks = (year: number): boolean => year >= 1_970 && year <= 9_998;

type Unit = z.output<typeof statisticsQuery>["unit"];

/** The query, as the response repeats it and as `/v1` has it. */
function readStatisticsQuery(v1: V1) {
  const { unit, units, unit_reference, size } = v1.readQuery(statisticsQuery);
  const end = (unit_reference ?? new Date()).toISOString();
  const last = Temporal.PlainDate.from(end.slice(0, "2026-01-31".length));
  const first =
    units < 1
      ? last.subtract({ years: SPAN_YEARS_MAX }).add({ days: 1 })
      : startOf(unit, last).subtract({ [`${unit}s`]: units - 1 });
  const dates = { start_date: first.toString(), end_date: last.toString() };
  const period: Query = units < 1 && unit_reference === undefined ? { period: "all" } : dates;
  const limit = Math.min(size, PAGE_SIZE_MAX);
  return { asked: { unit, units, unit_reference: toDate(end) }, period, limit };
}

/** The first day of the unit that contains a day. */
function startOf(unit: Unit, day: Temporal.PlainDate): Temporal.PlainDate {
  if (unit === "month") return day.with({ day: 1 });
  return unit === "week" ? day.subtract({ days: day.dayOfWeek - 1 }) : day;
}

async function readClicks(v1: V1, id: string): Promise<CompatResponse> {
  const { asked, period } = readStatisticsQuery(v1);
  const found = await v1.get(summaryResponse, `/v1/analytics/${id}`, period);
  const counts = new Map<string, number>();
  for (const { date, clicks } of found.clicks_over_time) {
    const start = startOf(asked.unit, Temporal.PlainDate.from(date)).toString();
    counts.set(start, (counts.get(start) ?? 0) + clicks);
  }
  const link_clicks = [...counts]
    .map(([start, clicks]) => ({ date: toDate(`${start}T00:00:00`), clicks }))
    .toReversed();
  return toJson(200, { link_clicks, ...asked });
}

async function readTotal(v1: V1, id: string): Promise<CompatResponse> {
  const { asked, period } = readStatisticsQuery(v1);
  const { summary } = await v1.get(summaryResponse, `/v1/analytics/${id}`, period);
  return toJson(200, { total_clicks: summary.total_clicks, ...asked });
}

async function readCountries(v1: V1, id: string): Promise<CompatResponse> {
  const { asked, period, limit } = readStatisticsQuery(v1);
  const found = await v1.get(geoResponse, `/v1/analytics/${id}/geo`, { ...period, limit });
  const rows = found.group_by === "country" ? found.data : [];
  const metrics = rows.map(({ country, clicks }) => ({ value: country, clicks }));
  return toJson(200, { metrics, ...asked, facet: "countries" });
}

async function readReferrers(v1: V1, id: string): Promise<CompatResponse> {
  const { asked, period, limit } = readStatisticsQuery(v1);
  const path = `/v1/analytics/${id}/referrers`;
  const { referrers } = await v1.get(referrersResponse, path, { ...period, limit });
  const metrics = referrers.map(({ source, clicks }) => ({ value: source, clicks }));
  return toJson(200, { metrics, ...asked, facet: "referrers" });
}

function toFailed(failure: Failure): CompatResponse {
  const { code } = failure.error;
  const { field, message } = describe(failure, NAMES);
  const isInvalid = failure.status === 400 && field !== undefined;
  return toJson(failure.status, {
    message: isInvalid ? `INVALID_ARG_${field.toUpperCase()}` : code.toUpperCase(),
    description: message,
    resource: "bitlinks",
    errors: field === undefined ? [] : [{ field, error_code: code, message }],
  });
}
