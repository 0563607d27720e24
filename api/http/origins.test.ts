import { expect, test } from "bun:test";

import { FakeApi } from "../../test/harness/fake-api.ts";

const ORIGIN = "https://app.example.com";

/** Also headers that tracing adds to the requests of a page. */
const REQUESTED = "authorization,baggage,content-type,idempotency-key,sentry-trace,traceparent";

const preflight = (origin: string) => ({
  method: "OPTIONS",
  headers: {
    origin,
    "access-control-request-method": "POST",
    "access-control-request-headers": REQUESTED,
  },
});

test("a page of a configured origin may call the API with any header and read ours, also of errors", async () => {
  const api = new FakeApi({}, { corsOrigins: [ORIGIN] });
  const allowed = await api.send("/v1/links", preflight(ORIGIN));
  expect([allowed.status, allowed.text]).toEqual([204, ""]);
  expect(allowed.headers.get("access-control-allow-origin")).toBe(ORIGIN);
  expect(allowed.headers.get("access-control-allow-headers")).toBe(REQUESTED);
  const error = await api.send("/v1/links", { headers: { origin: ORIGIN } });
  expect(error.status).toBe(401);
  expect(error.headers.get("access-control-allow-origin")).toBe(ORIGIN);
  expect(error.headers.get("access-control-expose-headers")).toContain("Retry-After");
  expect(error.headers.get("vary")).toBe("Origin");
});

const VARY: Record<string, string> = {
  "application/json": "Origin, Accept, Accept-Encoding",
  "text/csv": "Origin, Accept",
};

test("caches are told of everything that an answer depends on", async () => {
  const summary = {
    total_clicks: 0,
    unique_clicks: 0,
    avg_daily_clicks: 0,
    clicks_per_day: 0,
    bot_clicks: 0,
    prefetch_clicks: 0,
  };
  const report = { period: "7d", summary, clicks_over_time: [], top_links: [] };
  const api = new FakeApi(
    { analytics: { account: async () => report } },
    { corsOrigins: [ORIGIN] },
  );
  const key = api.addKey();
  for (const accept of ["application/json", "text/csv"]) {
    const { status, headers } = await api.send("/v1/analytics", { key, headers: { accept } });
    expect([status, headers.get("vary") ?? ""]).toEqual([200, VARY[accept] ?? ""]);
  }
});

test("a page of another origin may not, and none by default", async () => {
  for (const corsOrigins of [[ORIGIN], []]) {
    const api = new FakeApi({}, { corsOrigins });
    const { status, headers } = await api.send("/v1/links", preflight("https://evil.example"));
    expect([status, headers.get("access-control-allow-origin")]).toEqual([405, null]);
  }
});
