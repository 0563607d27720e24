/**
 * Traces by OpenTelemetry, for whoever collects them: a span a request, which goes on from the client's own
 * (`traceparent`, W3C Trace Context). Nothing is loaded, and nothing costs, where no collector is named.
 */
import type { Observe } from "./http/metrics-plugin.ts";

export type Tracing = {
  observe: Observe;
  /** Sends what waits, and ends. */
  stop(): Promise<void>;
};

/** `endpoint` is a collector's, to which OTLP over HTTP is sent at `/v1/traces`. */
export async function startTracing(endpoint: string, version: string): Promise<Tracing> {
  const { ROOT_CONTEXT, SpanKind, SpanStatusCode, defaultTextMapGetter } =
    await import("@opentelemetry/api");
  const { W3CTraceContextPropagator } = await import("@opentelemetry/core");
  const { OTLPTraceExporter } = await import("@opentelemetry/exporter-trace-otlp-http");
  const { resourceFromAttributes } = await import("@opentelemetry/resources");
  const { BasicTracerProvider, BatchSpanProcessor } = await import("@opentelemetry/sdk-trace-base");
  const exporter = new OTLPTraceExporter({ url: new URL("/v1/traces", endpoint).href });
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({
      "service.name": "shorthop-api",
      "service.version": version,
    }),
    spanProcessors: [new BatchSpanProcessor(exporter)],
  });
  const tracer = provider.getTracer("shorthop-api", version);
  const propagator = new W3CTraceContextPropagator();
  return {
    observe({ request, route, status, seconds }) {
      const endTime = Date.now();
      const parent = propagator.extract(
        ROOT_CONTEXT,
        { traceparent: request.headers.get("traceparent") ?? undefined },
        defaultTextMapGetter,
      );
      // No path and no query: they may hold what is nobody else's.
      const attributes = {
        "http.request.method": request.method,
        "http.route": route,
        "http.response.status_code": status,
      };
      const span = tracer.startSpan(
        `${request.method} ${route}`.trim(),
        { kind: SpanKind.SERVER, startTime: endTime - seconds * 1_000, attributes },
        parent,
      );
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end(endTime);
    },
    stop: () => provider.shutdown(),
  };
}
