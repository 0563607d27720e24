/**
 * The routes of counts of clicks, defined once for both scopes: `/v1/analytics/:link_id/…` counts
 * the clicks of a link, `/v1/analytics/…` those of all links of the account.
 */
import { Elysia } from "elysia";
import * as z from "zod";

import { LINK_ID } from "../../shared/contracts/examples.ts";
import { decodeId, encodeId } from "../../shared/ids.ts";
import { idParameter } from "../http/common-schemas.ts";
import { notFound } from "../http/errors.ts";
import { principalOf } from "../http/request-context.ts";
import type { AccessPlugin } from "../site.ts";
import { READ_ACCESS } from "./access.ts";
import {
  type AccountBreakdownResponse,
  accountBreakdownResponse,
  type AccountDevicesResponse,
  accountDevicesResponse,
  type AccountGeoResponse,
  accountGeoResponse,
  type AccountReferrersResponse,
  accountReferrersResponse,
  type AccountTimesResponse,
  accountTimesResponse,
  breakdownResponse,
  devicesResponse,
  geoResponse,
  referrersResponse,
  timesResponse,
} from "./breakdown-model.ts";
import { csvPlugin } from "./csv-plugin.ts";
import {
  breakdownTable,
  devicesTable,
  geoTable,
  referrersTable,
  timesTable,
} from "./csv-tables.ts";
import {
  type AccountBreakdownQuery,
  accountBreakdownQuery,
  analyticsQuery,
  breakdownQuery,
  geoQuery,
  referrersQuery,
} from "./model.ts";
import type { AnalyticsService } from "./service.ts";
import type { Subject } from "./subject.ts";

export const createAnalyticsApp = (auth: AccessPlugin) =>
  new Elysia({ name: "analytics", prefix: "/v1/analytics", tags: ["Analytics"] })
    .use(auth)
    .use(csvPlugin);

type AnalyticsApp = ReturnType<typeof createAnalyticsApp>;

export const linkParams = z.object({ link_id: idParameter("link", "The link's id.", LINK_ID) });

/** What the routes of one scope differ in; each query has a route in both scopes. */
type RouteScope = {
  /** Begins the path of each route. */
  path: "/:link_id" | "";
  params: { params?: typeof linkParams };
  /** Part of the operation ids. */
  name: "Link" | "Account";
  /** Parts of the summaries. */
  clicks: string;
  its: string;
  breakdownQuery: z.ZodType<AccountBreakdownQuery>;
  responses: {
    geo: z.ZodType<AccountGeoResponse>;
    devices: z.ZodType<AccountDevicesResponse>;
    referrers: z.ZodType<AccountReferrersResponse>;
    breakdown: z.ZodType<AccountBreakdownResponse>;
    times: z.ZodType<AccountTimesResponse>;
  };
};

/** Of the link that the path names; responses contain its id. */
export const LINK: RouteScope = {
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

/** Of all links of the account. */
export const ACCOUNT: RouteScope = {
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

/** Counts the clicks of the link that a path names, and adds its id; throws `not_found`. */
export async function countOfLink<Counts extends object>(
  params: z.output<typeof linkParams>,
  count: (subject: Subject) => Promise<Counts>,
): Promise<{ link_id: string } & Counts> {
  const link = decodeId("link", params.link_id);
  if (link === undefined) throw notFound("link");
  return { link_id: encodeId("link", link), ...(await count({ link })) };
}

/**
 * Counts the clicks of the link that a path names; of the account, if it names none. The framework
 * passes no parameters for a path without any.
 */
const countOf = async <Counts extends object>(
  params: Partial<z.output<typeof linkParams>> | undefined,
  count: (subject: Subject) => Promise<Counts>,
): Promise<Counts> => {
  const link_id = params?.link_id;
  return link_id === undefined ? await count("account") : await countOfLink({ link_id }, count);
};

/** Adds the counts that have a schema of their own. */
export const addCounts = (app: AnalyticsApp, analytics: AnalyticsService, scope: RouteScope) =>
  app
    .get(
      `${scope.path}/geo`,
      ({ call, params, query }) =>
        countOf(params, (subject) => analytics.geo(principalOf(call), subject, query)),
      {
        access: READ_ACCESS,
        csv: geoTable,
        ...scope.params,
        query: geoQuery,
        response: { 200: scope.responses.geo },
        detail: { operationId: `get${scope.name}Geo`, summary: `Get ${scope.clicks} by location` },
      },
    )
    .get(
      `${scope.path}/devices`,
      ({ call, params, query }) =>
        countOf(params, (subject) => analytics.devices(principalOf(call), subject, query)),
      {
        access: READ_ACCESS,
        csv: devicesTable,
        ...scope.params,
        query: analyticsQuery,
        response: { 200: scope.responses.devices },
        detail: {
          operationId: `get${scope.name}Devices`,
          summary: `Get ${scope.clicks} by device, browser and system`,
        },
      },
    )
    .get(
      `${scope.path}/referrers`,
      ({ call, params, query }) =>
        countOf(params, (subject) => analytics.referrers(principalOf(call), subject, query)),
      {
        access: READ_ACCESS,
        csv: referrersTable,
        ...scope.params,
        query: referrersQuery,
        response: { 200: scope.responses.referrers },
        detail: {
          operationId: `get${scope.name}Referrers`,
          summary: `Get ${scope.clicks} by referrer`,
        },
      },
    );

/** Adds the counts by any dimension. */
export const addBreakdown = (app: AnalyticsApp, analytics: AnalyticsService, scope: RouteScope) =>
  app.get(
    `${scope.path}/breakdown`,
    ({ call, params, query }) =>
      countOf(params, (subject) => analytics.breakdown(principalOf(call), subject, query)),
    {
      access: READ_ACCESS,
      csv: breakdownTable,
      ...scope.params,
      query: scope.breakdownQuery,
      response: { 200: scope.responses.breakdown },
      detail: {
        operationId: `get${scope.name}Breakdown`,
        summary: `Break down ${scope.clicks} by one or two dimensions`,
      },
    },
  );

/** Adds the counts by weekday and hour. */
export const addTimes = (app: AnalyticsApp, analytics: AnalyticsService, scope: RouteScope) =>
  app.get(
    `${scope.path}/times`,
    ({ call, params, query }) =>
      countOf(params, (subject) => analytics.times(principalOf(call), subject, query)),
    {
      access: READ_ACCESS,
      csv: timesTable,
      ...scope.params,
      query: analyticsQuery,
      response: { 200: scope.responses.times },
      detail: {
        operationId: `get${scope.name}Times`,
        summary: `Get ${scope.clicks} by weekday and hour, and ${scope.its} first and last click`,
      },
    },
  );
