/**
 * OpenTelemetry traces: one span per request, which continues the client's trace (`traceparent`,
 * W3C Trace Context). Without a configured collector nothing is loaded, and tracing costs nothing.
 */
import type { Observe } from "./http/metrics-plugin.ts";

export type Tracing = {
  observe: Observe;
  /** Sends the remaining spans and stops. */
  stop(): Promise<void>;
};

/** `endpoint` is the URL of a collector, which receives OTLP over HTTP at `/v1/traces`. */
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
      // Neither path nor query: they may contain private data.
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
