import { expect, test } from "bun:test";

import * as z from "zod";

import { RequestTracing } from "./tracing.ts";

const received = z.object({
  resourceSpans: z.array(
    z.object({
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.object({
              name: z.string(),
              traceId: z.string(),
              parentSpanId: z.string().optional(),
              attributes: z.array(z.object({ key: z.string(), value: z.unknown() })),
              status: z.object({ code: z.number().optional() }),
            }),
          ),
        }),
      ),
    }),
  ),
});

test("a request is a span of its client's trace, and does not reveal its path", async () => {
  const bodies: unknown[] = [];
  using collector = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      expect(new URL(request.url).pathname).toBe("/v1/traces");
      bodies.push(await request.json());
      return Response.json({});
    },
  });
  const tracing = await RequestTracing.start(collector.url.origin, "1.2.3");
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const request = new Request("http://localhost/v1/links/link_secret?search=private", {
    headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` },
  });
  tracing.observe({ request, route: "/v1/links/:id", status: 200, seconds: 0.01 });
  tracing.observe({
    request: new Request("http://localhost/v1/limits"),
    route: "/v1/limits",
    status: 503,
    seconds: 2,
  });
  await tracing.stop();
  const spans = bodies.flatMap((body) =>
    received
      .parse(body)
      .resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)),
  );
  expect(spans).toHaveLength(2);
  expect(spans[0]).toMatchObject({
    name: "GET /v1/links/:id",
    traceId,
    parentSpanId: "b7ad6b7169203331",
  });
  expect(spans[1]?.status.code).toBe(2);
  expect(JSON.stringify(bodies)).not.toMatch(/link_secret|private/);
});
