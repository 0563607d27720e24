/**
 * Goal: `/v1/analytics` validates and authorises queries and writes CSV, on a fake store of clicks.
 */
import { beforeEach, describe, expect, test } from "bun:test";

import { encodeId, newUuid } from "../../shared/ids.ts";
import { createFakeApi, errorCodeOf, type FakeKey } from "../../test/harness/fake-api.ts";
import { notFound, unavailable } from "../http/errors.ts";
import { resolveRange } from "./period.ts";
import type { Subject } from "./query-resolver.ts";

const LINK = newUuid();
const link_id = encodeId("link", LINK);

const overTime = {
  period: "7d",
  summary: {
    total_clicks: 3,
    unique_clicks: 2,
    avg_daily_clicks: 0,
    clicks_per_day: 0,
    bot_clicks: 1,
    prefetch_clicks: 0,
  },
  clicks_over_time: [{ date: "2026-01-01", clicks: 3, unique: 2 }],
};

let key: FakeKey;
/** Thrown instead of counting clicks. */
let fault: (() => never) | undefined;
/** Whose clicks were counted last. */
let counted: Subject | undefined;

const api = createFakeApi({
  analytics: {
    async summary({ accountId }, subject, query) {
      fault?.();
      const isKnown = subject !== "account" && subject.link === LINK;
      if (!isKnown || accountId !== key.accountId) throw notFound("link");
      resolveRange(query, Date.UTC(2026, 0, 1), Date.UTC(2026, 6, 1));
      return overTime;
    },
    account: async () => ({
      ...overTime,
      top_links: [{ link_id, short_url: "https://sho.rt/a", title: null, clicks: 3 }],
    }),
    async geo(_, subject) {
      counted = subject;
      const figures = { clicks: 3, percentage: 100 };
      return {
        group_by: "country",
        data: [{ country: "DE", country_name: "=Germany", ...figures }],
      };
    },
    bulk: async (_, { link_ids }) => ({
      data: link_ids.filter((id) => id === link_id).map((id) => ({ link_id: id, clicks: 3 })),
      errors: link_ids
        .filter((id) => id !== link_id)
        .map((id) => ({ link_id: id, code: "not_found", message: "None." })),
    }),
  },
});
beforeEach(() => {
  fault = undefined;
  key = api.addKey();
});

describe("GET /v1/analytics/:link_id", () => {
  test("returns totals and a time series", async () => {
    const { status, body } = await api.send(`/v1/analytics/${link_id}?period=7d`, { key });
    expect([status, body]).toEqual([200, { link_id, ...overTime }]);
  });

  test("returns CSV to clients that prefer it", async () => {
    const { status, headers, text } = await api.send(`/v1/analytics/${link_id}`, {
      key,
      headers: { accept: "text/csv" },
    });
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect(headers.get("vary")).toBe("Accept");
    expect(text).toBe("date,clicks,unique\r\n2026-01-01,3,2\r\n");
  });

  test.each([
    "period=1y",
    "timezone=Mars/Olympus",
    "start_date=2026-02-30&end_date=2026-03-01",
    "start_date=2026-03-02&end_date=2026-03-01",
  ])("rejects ?%s with a JSON error, even to clients that prefer CSV", async (query) => {
    const response = await api.send(`/v1/analytics/${link_id}?${query}`, {
      key,
      headers: { accept: "text/csv" },
    });
    expect([response.status, errorCodeOf(response)]).toEqual([400, "invalid_request"]);
  });

  test.each([
    ["timezone=Mars/Olympus", ["timezone"]],
    ["timezone=%2B02:00", ["timezone"]],
    ["start_date=2026-02-30", ["start_date"]],
    ["end_date=soon", ["end_date"]],
    ["end_date=9999-12-31", ["end_date"]],
    ["start_date=2026-03-02&end_date=2026-03-01", ["start_date"]],
    ["class=people", ["class"]],
    ["period=1y&start_date=x&timezone=y&class=z", ["period", "start_date", "timezone", "class"]],
  ])("names every parameter at fault of ?%s", async (query, params) => {
    const { status, body } = await api.send(`/v1/analytics/${link_id}?${query}`, { key });
    expect([status, body]).toMatchObject([
      400,
      { error: { param: params[0], details: params.map((param) => ({ param })) } },
    ]);
  });

  test("returns 503 while ClickHouse is unavailable", async () => {
    fault = () => {
      throw unavailable(new Error("clickhouse.internal:8123 refused"));
    };
    const response = await api.send(`/v1/analytics/${link_id}`, { key });
    expect([response.status, errorCodeOf(response)]).toEqual([503, "unavailable"]);
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(response.text).not.toContain("clickhouse");
  });

  test("returns nothing about an internal error except the request id", async () => {
    fault = () => {
      throw new Error("secret detail");
    };
    const response = await api.send(`/v1/analytics/${link_id}`, { key });
    expect([response.status, errorCodeOf(response)]).toEqual([500, "internal"]);
    expect(response.text).not.toContain("secret");
    expect(response.headers.get("x-request-id")).not.toBeNull();
  });
});

describe("GET /v1/analytics/:link_id/geo", () => {
  test("counts the clicks of the link, and adds its id", async () => {
    const { body } = await api.send(`/v1/analytics/${link_id}/geo`, { key });
    expect(counted).toEqual({ link: LINK });
    expect(body).toMatchObject({ link_id });
  });

  test("counts the clicks of the account without an id", async () => {
    const { body } = await api.send("/v1/analytics/geo", { key });
    expect(counted).toBe("account");
    expect(body).not.toHaveProperty("link_id");
  });

  test("does not find what is no id of a link", async () => {
    counted = undefined;
    const response = await api.send("/v1/analytics/link_nothing/geo", { key });
    expect([response.status, errorCodeOf(response)]).toEqual([404, "not_found"]);
    expect(counted).toBeUndefined();
  });

  test("groups by country by default", async () => {
    const { body } = await api.send(`/v1/analytics/${link_id}/geo`, { key });
    expect(body).toMatchObject({ group_by: "country", data: [{ country: "DE" }] });
  });

  test.each(["group_by=street", "limit=0", "limit=101"])("rejects ?%s", async (query) => {
    const response = await api.send(`/v1/analytics/${link_id}/geo?${query}`, { key });
    expect([response.status, errorCodeOf(response)]).toEqual([400, "invalid_request"]);
  });

  test("neutralises formulas in CSV", async () => {
    const { text } = await api.send(`/v1/analytics/${link_id}/geo`, {
      key,
      headers: { accept: "text/csv" },
    });
    expect(text).toContain("'=Germany");
  });
});

describe("GET /v1/analytics", () => {
  test("returns the totals of all links and the links with the most clicks", async () => {
    const { status, body } = await api.send("/v1/analytics", { key });
    expect([status, body]).toMatchObject([200, { top_links: [{ link_id, clicks: 3 }] }]);
  });

  test("rejects a limit above the maximum", async () => {
    const response = await api.send("/v1/analytics?limit=101", { key });
    expect([response.status, errorCodeOf(response)]).toEqual([400, "invalid_request"]);
  });
});

describe("a filter that no click can pass", () => {
  const PATHS = [
    "/v1/analytics",
    "/v1/analytics/geo",
    "/v1/analytics/devices",
    "/v1/analytics/referrers",
    "/v1/analytics/times",
    "/v1/analytics/breakdown?by=os",
    ...["", "/geo", "/devices", "/referrers", "/targets", "/times", "/stream"].map(
      (path) => `/v1/analytics/${link_id}${path}`,
    ),
    `/v1/analytics/${link_id}/breakdown?by=os`,
    "/v1/clicks",
    "/v1/clicks/export",
  ];

  test.each(PATHS)("is refused with every fault by %s", async (path) => {
    const query = `${path.includes("?") ? "&" : "?"}country=DE,FR&device=phone&class=people`;
    const { status, body } = await api.send(path + query, { key });
    expect([status, body]).toMatchObject([
      400,
      {
        error: {
          code: "invalid_request",
          param: "country",
          details: [
            {
              param: "country",
              message:
                'Invalid value for "country": must be an ISO 3166-1 code of two letters such as DE, or ZZ where it is unknown; send several values one by one, without commas.',
            },
            {
              param: "device",
              message: 'Invalid value for "device": must be one of mobile, desktop, tablet, other.',
            },
            {
              param: "class",
              message: 'Invalid value for "class": must be one of human, bot, prefetch.',
            },
          ],
        },
      },
    ]);
  });

  test("is named with its place in the body of a bulk query", async () => {
    const { status, body } = await api.send("/v1/analytics/bulk", {
      key,
      body: { link_ids: [link_id], filters: { continent: ["EU", "Europe"] } },
    });
    expect([status, body]).toMatchObject([400, { error: { param: "filters.continent" } }]);
  });
});

describe("POST /v1/analytics/bulk", () => {
  test("returns counts, and lists links that do not exist", async () => {
    const { status, body } = await api.send("/v1/analytics/bulk", {
      key,
      body: { link_ids: [link_id, "link_nothing"] },
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({ data: [{ link_id, clicks: 3 }], errors: [{ code: "not_found" }] });
  });

  test.each<[string, unknown]>([
    ["nothing", {}],
    ["no links", { link_ids: [] }],
    ["a link twice", { link_ids: [link_id, link_id] }],
    ["too many links", { link_ids: Array.from({ length: 1_001 }, () => link_id) }],
    ["an unknown metric", { link_ids: [link_id], metrics: ["revenue"] }],
    ["an unknown period", { link_ids: [link_id], period: "1y" }],
    ["an unknown time zone", { link_ids: [link_id], timezone: "Mars/Phobos" }],
  ])("rejects %s", async (_, body) => {
    const response = await api.send("/v1/analytics/bulk", { key, body });
    expect([response.status, errorCodeOf(response)]).toEqual([400, "invalid_request"]);
  });

  test("rejects a request without a key before it reads the body", async () => {
    const response = await api.send("/v1/analytics/bulk", { body: "no JSON" });
    expect([response.status, errorCodeOf(response)]).toEqual([401, "unauthorized"]);
  });
});
