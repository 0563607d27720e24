/** Visits in the shape of Shlink: single clicks by people, newest first. */
import * as z from "zod";

import { countryName } from "../analytics/filters.ts";
import { SPAN_YEARS_MAX } from "../analytics/period.ts";
import { accountResponse, summaryResponse } from "../analytics/responses.ts";
import { CLICKS_PAGE_MAX, clicksResponse } from "../clicks/service.ts";
import { type CompatResponse, type Query, toJson, type V1 } from "./v1.ts";

/** Maximum visits that can be paged through: each page is read from the newest visit on. */
const VISITS_MAX = 10_000;

const visitsQuery = z.object({
  page: z.coerce.number().int().min(1).default(1),
  itemsPerPage: z.coerce.number().int().min(-1).default(-1),
  startDate: z.string().optional(),
  endDate: z.string().optional(),
});

/** Whose visits; those of the whole account if it names nothing. */
type Subject = { link_id?: string; tag?: string; domain?: string };

type Click = z.output<typeof clicksResponse>["data"][number];

/** Lists the visits of a link, a tag, a domain or the account: a page of a period. */
export async function listVisits(v1: V1, subject: Subject): Promise<CompatResponse> {
  const { page, itemsPerPage, startDate, endDate } = v1.readQuery(visitsQuery);
  const size = itemsPerPage < 1 ? VISITS_MAX : Math.min(itemsPerPage, VISITS_MAX);
  const period = readPeriod(startDate, endDate);
  const first = (page - 1) * size;
  const { clicks, end } = await readClicks(v1, { ...period, ...subject }, first, first + size);
  const total = end ?? (await countClicks(v1, period, subject));
  const pages = paginationOf(page, size, clicks.length, Math.min(total, VISITS_MAX));
  return toJson(200, {
    visits: { data: clicks.map(toVisit), pagination: { ...pages, totalItems: total } },
  });
}

export const paginationOf = (page: number, size: number, shown: number, total: number) => ({
  currentPage: page,
  pagesCount: Math.max(1, Math.ceil(total / size)),
  itemsPerPage: size,
  itemsInCurrentPage: shown,
  totalItems: total,
});

/** Clicks by bots are in no count. */
export const toSummary = (clicks: number) => ({ total: clicks, nonBots: clicks, bots: 0 });

/** The period of a request; `/v1` takes its dates as they are. */
function readPeriod(start: string | undefined, end: string | undefined): Query {
  if (start === undefined && end === undefined) return { period: "all" };
  return { start_date: start ?? earliestBefore(end ?? ""), end_date: end };
}

/** The earliest start of a period that ends at an instant; undefined for an invalid one. */
function earliestBefore(end: string): string | undefined {
  const date = new Date(end);
  date.setUTCFullYear(
    date.getUTCFullYear() - SPAN_YEARS_MAX,
    date.getUTCMonth(),
    date.getUTCDate() + 1,
  );
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

/**
 * Reads the clicks from one position in their order to another, within {@link VISITS_MAX}; `end` is
 * the number of all clicks, if the last of them was read.
 */
async function readClicks(v1: V1, query: Query, from: number, to: number) {
  const clicks: Click[] = [];
  // A page beyond them is empty: nothing has to be read up to it.
  const last = from < VISITS_MAX ? Math.min(to, VISITS_MAX) : 0;
  let cursor: string | undefined;
  let seen = 0;
  while (seen < last) {
    const limit = Math.min(CLICKS_PAGE_MAX, last - seen);
    const page = { ...query, class: "human", limit, starting_after: cursor };
    const { data, next_cursor } = await v1.get(clicksResponse, "/v1/clicks", page);
    clicks.push(...data.slice(Math.max(0, from - seen)));
    seen += data.length;
    if (next_cursor === null) return { clicks, end: seen };
    cursor = next_cursor;
  }
  return { clicks, end: undefined };
}

async function countClicks(
  v1: V1,
  period: Query,
  { link_id, ...filters }: Subject,
): Promise<number> {
  const { summary } =
    link_id === undefined
      ? await v1.get(accountResponse, "/v1/analytics", { ...period, ...filters, limit: 1 })
      : await v1.get(summaryResponse, `/v1/analytics/${link_id}`, period);
  return summary.total_clicks;
}

const toVisit = (click: Click) => ({
  referer: click.referrer === "direct" ? "" : `https://${click.referrer}${click.referrer_path}`,
  date: click.time,
  userAgent: toUserAgent(click.browser, click.os),
  visitLocation: {
    countryCode: click.country,
    countryName: countryName(click.country),
    regionName: click.region_name,
    cityName: click.city,
    // No coordinates are stored.
    latitude: null,
    longitude: null,
    timezone: null,
    isEmpty: false,
  },
  potentialBot: false,
  redirectUrl: null,
});

/** Parts of user agents by which clients recognize a system. */
const SYSTEMS: ReadonlyMap<string, string> = new Map([
  ["Android", "Linux; Android 14; Mobile"],
  ["ChromeOS", "X11; CrOS x86_64 14541.0.0"],
  ["iOS", "iPhone; CPU iPhone OS 17_0 like Mac OS X"],
  ["Linux", "X11; Linux x86_64"],
  ["macOS", "Macintosh; Intel Mac OS X 10_15_7"],
  ["Windows", "Windows NT 10.0; Win64; x64"],
]);

/** Parts of user agents by which clients recognize a browser. */
const BROWSERS: ReadonlyMap<string, string> = new Map([
  ["Chrome", "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36"],
  ["Edge", "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36 Edg/120.0.0.0"],
  ["Firefox", "Gecko/20100101 Firefox/120.0"],
  ["Opera", "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36 OPR/105.0.0.0"],
  ["Safari", "AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 Safari/605.1.15"],
]);

/** A user agent of a click's browser and system: its own is not stored. */
const toUserAgent = (browser: string, os: string): string =>
  `Mozilla/5.0 (${SYSTEMS.get(os) ?? os}) ${BROWSERS.get(browser) ?? `${browser}/1.0`}`;
