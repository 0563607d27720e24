/**
 * OpenTelemetry traces: one span per request, which continues the client's trace (`traceparent`,
 * W3C Trace Context). Without a configured collector nothing is loaded, and tracing costs nothing.
 */
import type * as OpenTelemetry from "@opentelemetry/api";
import type { BasicTracerProvider } from "@opentelemetry/sdk-trace-base";

import type { CompletedRequest } from "./site.ts";

export class RequestTracing {
  /** Loaded only when it is used. */
  readonly #api: typeof OpenTelemetry;
  readonly #provider: BasicTracerProvider;
  readonly #tracer: OpenTelemetry.Tracer;
  readonly #propagator: OpenTelemetry.TextMapPropagator;

  private constructor(
    api: typeof OpenTelemetry,
    provider: BasicTracerProvider,
    tracer: OpenTelemetry.Tracer,
    propagator: OpenTelemetry.TextMapPropagator,
  ) {
    this.#api = api;
    this.#provider = provider;
    this.#tracer = tracer;
    this.#propagator = propagator;
  }

  /** `endpoint` is the URL of a collector, which receives OTLP over HTTP at `/v1/traces`. */
  static async start(endpoint: string, version: string): Promise<RequestTracing> {
    const api = await import("@opentelemetry/api");
    const { W3CTraceContextPropagator } = await import("@opentelemetry/core");
    const { OTLPTraceExporter } = await import("@opentelemetry/exporter-trace-otlp-http");
    const { resourceFromAttributes } = await import("@opentelemetry/resources");
    const { BasicTracerProvider, BatchSpanProcessor } =
      await import("@opentelemetry/sdk-trace-base");
    const exporter = new OTLPTraceExporter({ url: new URL("/v1/traces", endpoint).href });
    const provider = new BasicTracerProvider({
      resource: resourceFromAttributes({
        "service.name": "shorthop-api",
        "service.version": version,
      }),
      spanProcessors: [new BatchSpanProcessor(exporter)],
    });
    const tracer = provider.getTracer("shorthop-api", version);
    return new RequestTracing(api, provider, tracer, new W3CTraceContextPropagator());
  }

  observe({ request, route, status, seconds }: CompletedRequest): void {
    const { ROOT_CONTEXT, SpanKind, SpanStatusCode, defaultTextMapGetter } = this.#api;
    const endTime = Date.now();
    const parent = this.#propagator.extract(
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
    const span = this.#tracer.startSpan(
      `${request.method} ${route}`.trim(),
      { kind: SpanKind.SERVER, startTime: endTime - seconds * 1_000, attributes },
      parent,
    );
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(endTime);
  }

  /** Sends the remaining spans and stops. */
  stop(): Promise<void> {
    return this.#provider.shutdown();
  }
}
