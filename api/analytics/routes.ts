/**
 * Routes of analytics. Most are about a link, `/v1/analytics/:link_id/…`, and about all links of
 * the account, `/v1/analytics/…`; they are defined once for both.
 */
import { Elysia } from "elysia";
import * as z from "zod";

import { FAILURE_REASONS, WEEKDAYS } from "../../shared/contracts/analytics.ts";
import { LINK_ID } from "../../shared/contracts/examples.ts";
import { decodeId, encodeId } from "../../shared/ids.ts";
import { idParameter } from "../http/common-schemas.ts";
import { notFound } from "../http/errors.ts";
import { confirmOf, principalOf } from "../http/request-context.ts";
import type { AccessPlugin } from "../site.ts";
import { csvPlugin, type Table, toTable } from "./csv-plugin.ts";
import { type FailureService, failuresQuery, failuresResponse } from "./failures.ts";
import {
  accountBreakdownQuery,
  accountQuery,
  analyticsQuery,
  breakdownQuery,
  type BreakdownRequest,
  bulkBody,
  filtersQuery,
  geoQuery,
  READ_ACCESS,
  referrersQuery,
  summaryQuery,
} from "./model.ts";
import type { Subject } from "./query-resolver.ts";
import {
  accountBreakdownResponse,
  accountDevicesResponse,
  accountGeoResponse,
  accountReferrersResponse,
  accountResponse,
  accountTimesResponse,
  breakdownResponse,
  bulkResponse,
  devicesResponse,
  geoResponse,
  referrersResponse,
  summaryResponse,
  targetsResponse,
  timesResponse,
} from "./responses.ts";
import type { AnalyticsService } from "./service.ts";

/** The order of the routes is that of the OpenAPI document. */
export const analyticsRoutes = (auth: AccessPlugin, analytics: AnalyticsService) =>
  new Elysia({ name: "analytics" })
    .use(linkRoutes(auth, analytics))
    .use(valueRoutes(auth, analytics, LINK))
    .use(targetRoutes(auth, analytics))
    .use(accountRoutes(auth, analytics))
    .use(valueRoutes(auth, analytics, ACCOUNT))
    .use(breakdownRoutes(auth, analytics, LINK))
    .use(breakdownRoutes(auth, analytics, ACCOUNT))
    .use(timesRoutes(auth, analytics, LINK))
    .use(timesRoutes(auth, analytics, ACCOUNT))
    .use(streamRoutes(auth, analytics))
    .use(bulkRoutes(auth, analytics));

const analyticsApp = (auth: AccessPlugin) =>
  new Elysia({ prefix: "/v1/analytics", tags: ["Analytics"] }).use(auth).use(csvPlugin);

const linkParams = z.object({ link_id: idParameter("link", "The link's id.", LINK_ID) });

type LinkParams = z.output<typeof linkParams>;

/** Runs a query about the link that a path names, and adds its id; throws `not_found`. */
async function ofLink<Body extends object>(
  params: LinkParams,
  query: (subject: Subject) => Promise<Body>,
): Promise<{ link_id: string } & Body> {
  const link = decodeId("link", params.link_id);
  if (link === undefined) throw notFound("link");
  return { link_id: encodeId("link", link), ...(await query({ link })) };
}

/**
 * Runs a query about the link that a path names; about the account, if it names none. The framework
 * passes no parameters for a path that has none.
 */
async function ofSubject<Body extends object>(
  params: Partial<LinkParams> | undefined,
  query: (subject: Subject) => Promise<Body>,
): Promise<Body> {
  const link_id = params?.link_id;
  return link_id === undefined ? await query("account") : await ofLink({ link_id }, query);
}

/** How routes about a link and about the account differ. */
type RouteSubject = {
  /** Begins the path of each route. */
  path: "/:link_id" | "";
  params: { params?: typeof linkParams };
  /** Part of the operation ids. */
  name: "Link" | "Account";
  /** Parts of the summaries. */
  clicks: string;
  its: string;
  breakdownQuery: z.ZodType<BreakdownRequest>;
  responses: {
    geo: z.ZodType<z.output<typeof accountGeoResponse>>;
    devices: z.ZodType<z.output<typeof accountDevicesResponse>>;
    referrers: z.ZodType<z.output<typeof accountReferrersResponse>>;
    breakdown: z.ZodType<z.output<typeof accountBreakdownResponse>>;
    times: z.ZodType<z.output<typeof accountTimesResponse>>;
  };
};

/** Responses about a link contain its id. */
const LINK: RouteSubject = {
  path: "/:link_id",
  params: { params: linkParams },
  name: "Link",
  clicks: "a link's clicks",
  its: "its",
  breakdownQuery,
  responses: {
    geo: geoResponse,
    devices: devicesResponse,
    referrers: referrersResponse,
    breakdown: breakdownResponse,
    times: timesResponse,
  },
};

const ACCOUNT: RouteSubject = {
  path: "",
  params: {},
  name: "Account",
  clicks: "the clicks of all links",
  its: "the",
  breakdownQuery: accountBreakdownQuery,
  responses: {
    geo: accountGeoResponse,
    devices: accountDevicesResponse,
    referrers: accountReferrersResponse,
    breakdown: accountBreakdownResponse,
    times: accountTimesResponse,
  },
};

const TIME_COLUMNS = ["date", "clicks", "unique"];

const linkRoutes = (auth: AccessPlugin, analytics: AnalyticsService) =>
  analyticsApp(auth).get(
    "/:link_id",
    ({ call, params, query }) =>
      ofLink(params, (link) => analytics.summary(principalOf(call), link, query)),
    {
      access: READ_ACCESS,
      csv: (body: unknown) => toTable(TIME_COLUMNS, summaryResponse.parse(body).clicks_over_time),
      params: linkParams,
      query: summaryQuery,
      response: { 200: summaryResponse },
      detail: { operationId: "getLinkAnalytics", summary: "Get a link's clicks over time" },
    },
  );

const accountRoutes = (auth: AccessPlugin, analytics: AnalyticsService) =>
  analyticsApp(auth).get("", ({ call, query }) => analytics.account(principalOf(call), query), {
    access: READ_ACCESS,
    csv: (body: unknown) => toTable(TIME_COLUMNS, accountResponse.parse(body).clicks_over_time),
    query: accountQuery,
    response: { 200: accountResponse },
    detail: {
      operationId: "getAccountAnalytics",
      summary: "Get the clicks of all links over time",
      description: "Includes the links with the most clicks, also deleted ones.",
    },
  });

/** Clicks by location, by device and by referrer. */
const valueRoutes = (
  auth: AccessPlugin,
  analytics: AnalyticsService,
  { path, params: pathParams, name, clicks, responses }: RouteSubject,
) =>
  analyticsApp(auth)
    .get(
      `${path}/geo`,
      ({ call, params, query }) =>
        ofSubject(params, (subject) => analytics.geo(principalOf(call), subject, query)),
      {
        access: READ_ACCESS,
        csv: geoTable,
        ...pathParams,
        query: geoQuery,
        response: { 200: responses.geo },
        detail: { operationId: `get${name}Geo`, summary: `Get ${clicks} by location` },
      },
    )
    .get(
      `${path}/devices`,
      ({ call, params, query }) =>
        ofSubject(params, (subject) => analytics.devices(principalOf(call), subject, query)),
      {
        access: READ_ACCESS,
        csv: devicesTable,
        ...pathParams,
        query: analyticsQuery,
        response: { 200: responses.devices },
        detail: {
          operationId: `get${name}Devices`,
          summary: `Get ${clicks} by device, browser and system`,
        },
      },
    )
    .get(
      `${path}/referrers`,
      ({ call, params, query }) =>
        ofSubject(params, (subject) => analytics.referrers(principalOf(call), subject, query)),
      {
        access: READ_ACCESS,
        csv: (body: unknown) =>
          toTable(["source", ...COUNT_COLUMNS], accountReferrersResponse.parse(body).referrers),
        ...pathParams,
        query: referrersQuery,
        response: { 200: responses.referrers },
        detail: { operationId: `get${name}Referrers`, summary: `Get ${clicks} by referrer` },
      },
    );

const targetRoutes = (auth: AccessPlugin, analytics: AnalyticsService) =>
  analyticsApp(auth).get(
    "/:link_id/targets",
    ({ call, params, query }) =>
      analytics.targets(principalOf(call), decodeId("link", params.link_id), query),
    {
      access: READ_ACCESS,
      csv: (body: unknown) => toTable(TARGET_COLUMNS, targetsResponse.parse(body).data),
      params: linkParams,
      query: analyticsQuery,
      response: { 200: targetsResponse },
      detail: {
        operationId: "getLinkTargets",
        summary: "Get a link's clicks by rule and arm",
        description:
          "Clicks by destination: of each rule, each arm of the split, and the link's own. Reaches back as far as single clicks are retained.",
      },
    },
  );

const TARGET_COLUMNS = ["kind", "id", "label", "url", "clicks", "unique_clicks", "percentage"];

const breakdownRoutes = (
  auth: AccessPlugin,
  analytics: AnalyticsService,
  { path, params: pathParams, name, clicks, breakdownQuery: query, responses }: RouteSubject,
) =>
  analyticsApp(auth).get(
    `${path}/breakdown`,
    ({ call, params, query: request }) =>
      ofSubject(params, (subject) => analytics.breakdown(principalOf(call), subject, request)),
    {
      access: READ_ACCESS,
      csv: breakdownTable,
      ...pathParams,
      query,
      response: { 200: responses.breakdown },
      detail: {
        operationId: `get${name}Breakdown`,
        summary: `Break down ${clicks} by one or two dimensions`,
      },
    },
  );

const timesRoutes = (
  auth: AccessPlugin,
  analytics: AnalyticsService,
  { path, params: pathParams, name, clicks, its, responses }: RouteSubject,
) =>
  analyticsApp(auth).get(
    `${path}/times`,
    ({ call, params, query }) =>
      ofSubject(params, (subject) => analytics.times(principalOf(call), subject, query)),
    {
      access: READ_ACCESS,
      csv: timesTable,
      ...pathParams,
      query: analyticsQuery,
      response: { 200: responses.times },
      detail: {
        operationId: `get${name}Times`,
        summary: `Get ${clicks} by weekday and hour, and ${its} first and last click`,
      },
    },
  );

const streamRoutes = (auth: AccessPlugin, analytics: AnalyticsService) =>
  analyticsApp(auth).get(
    "/:link_id/stream",
    async ({ call, params, query, request, set }) => {
      const events = await analytics.live(
        principalOf(call),
        decodeId("link", params.link_id),
        { request, confirm: confirmOf(call) },
        query,
      );
      set.headers["content-type"] = "text/event-stream; charset=utf-8";
      set.headers["cache-control"] = "no-store";
      // Disables buffering in nginx.
      set.headers["x-accel-buffering"] = "no";
      return new Response(events);
    },
    {
      access: READ_ACCESS,
      errors: ["quota_exceeded"],
      params: linkParams,
      query: filtersQuery,
      detail: {
        operationId: "streamLinkClicks",
        summary: "Stream a link's clicks",
        description:
          "Sends new clicks as server-sent events. A client that reconnects with `Last-Event-ID` resumes after that event and receives up to the latest 1,000 clicks it missed. Returns `quota_exceeded` if the account has reached its maximum of open streams.",
      },
    },
  );

const bulkRoutes = (auth: AccessPlugin, analytics: AnalyticsService) =>
  analyticsApp(auth).post("/bulk", ({ call, body }) => analytics.bulk(principalOf(call), body), {
    access: { ...READ_ACCESS, endpoint: "POST /v1/analytics/bulk" },
    csv: bulkTable,
    body: bulkBody,
    response: { 200: bulkResponse },
    detail: {
      operationId: "getBulkAnalytics",
      summary: "Get the analytics of many links",
      description: "Lists links that do not exist in `errors`.",
    },
  });

// ---- The tables that clients get as CSV, of a response of a link or of the account alike

const COUNT_COLUMNS = ["clicks", "percentage"];

const GEO_COLUMNS: Record<string, string[]> = {
  country: ["country", "country_name"],
  region: ["region", "region_name", "country"],
  city: ["city", "region", "country"],
};

function geoTable(body: unknown): Table {
  const { group_by, data } = accountGeoResponse.parse(body);
  return toTable([...(GEO_COLUMNS[group_by] ?? []), ...COUNT_COLUMNS], data);
}

function devicesTable(body: unknown): Table {
  const { devices, browsers, os } = accountDevicesResponse.parse(body);
  const dimensions = {
    device: devices.map(({ type, ...counts }) => ({ name: type, ...counts })),
    browser: browsers,
    os,
  };
  return toTable(
    ["dimension", "name", ...COUNT_COLUMNS],
    Object.entries(dimensions).flatMap(([dimension, rows]) =>
      rows.map((row) => ({ dimension, ...row })),
    ),
  );
}

function breakdownTable(body: unknown): Table {
  const { data } = accountBreakdownResponse.parse(body);
  return toTable(
    [
      ...Object.keys(data[0]?.values ?? {}),
      "clicks",
      "unique_clicks",
      "percentage",
      ...Object.keys(data[0]?.link ?? {}),
    ],
    data.map(({ values, link, ...counts }) => ({ ...values, ...counts, ...link })),
  );
}

function timesTable(body: unknown): Table {
  const { heatmap } = accountTimesResponse.parse(body);
  return toTable(
    ["weekday", "hour", "clicks"],
    heatmap.flatMap((hours, day) =>
      hours.map((clicks, hour) => ({ weekday: WEEKDAYS[day], hour, clicks })),
    ),
  );
}

function bulkTable(body: unknown): Table {
  const { data } = bulkResponse.parse(body);
  return toTable(Object.keys(data[0] ?? { link_id: "" }), data);
}

const COLUMNS = ["date", "total", ...FAILURE_REASONS];

export const failureRoutes = (auth: AccessPlugin, failures: FailureService) =>
  new Elysia({ name: "failures", prefix: "/v1/analytics", tags: ["Analytics"] })
    .use(auth)
    .use(csvPlugin)
    .get("/failures", ({ call, query }) => failures.count(principalOf(call), query), {
      access: READ_ACCESS,
      csv: (body: unknown) => toTable(COLUMNS, failuresResponse.parse(body).failures_over_time),
      query: failuresQuery,
      response: { 200: failuresResponse },
      detail: {
        operationId: "getFailures",
        summary: "Get failed requests",
        description:
          "Counts requests that were not redirected, by reason: for links, and for aliases without a link on the account's verified domains. They are no clicks. Requests of people and programs count alike.",
      },
    });
