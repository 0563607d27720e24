/**
 * Lists every route from the applications themselves, so that a new one is attacked from its first
 * day.
 */
import * as z from "zod";

import { apiSite } from "../../api/app.ts";
import { dashboardSite } from "../../api/dashboard/app.ts";
import type { SharedStack } from "../harness/stack.ts";

/** The attacked listeners. */
export type Surface =
  | "api"
  | "dashboard"
  | "redirector"
  | "api internal"
  | "redirector internal"
  | "worker internal"
  | "clickhouse";

/** The part of JSON Schema that zod generates for request bodies. */
export type BodySchema = {
  type?: string | string[];
  properties?: Record<string, BodySchema>;
  required?: string[];
  items?: BodySchema;
  maxItems?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  pattern?: string;
  format?: string;
  const?: unknown;
  enum?: unknown[];
  examples?: unknown[];
  anyOf?: BodySchema[];
  oneOf?: BodySchema[];
  $ref?: string;
  $defs?: Record<string, BodySchema>;
};

export type Route = {
  surface: Surface;
  method: string;
  /** With `:name` for each parameter. */
  path: string;
  /** Names of the query parameters. */
  query: readonly string[];
  /** The query as an object, where the application has a schema of it. */
  parameters?: BodySchema;
  body?: BodySchema;
  /** What validates a query and a body. */
  validators?: { parameters: z.ZodType | undefined; body: z.ZodType | undefined };
};

export const formatRoute = ({ surface, method, path }: Route): string =>
  `${surface} ${method} ${path}`;

/** Every route, in a fixed order. */
export const listRoutes = (): Route[] => [
  ...toRoutes("api", apiSite(unused, unused).routes),
  ...toRoutes("dashboard", dashboardSite(unused, unused, unused, unused).routes),
  ...OTHERS,
];

/** Stands for every dependency of the applications: their routes are listed, but never called. */
const unused = new Proxy(() => undefined, {
  // As text it is a URL, as which the applications read their own address.
  get: (_, name): unknown =>
    name === Symbol.toPrimitive ? () => "https://unused.invalid" : unused,
  apply: (): unknown => unused,
  // No type has every property, but this value does.
}) as never;

const routeForm = z.object({
  method: z.string(),
  path: z.string(),
  hooks: z.object({
    query: z.instanceof(z.ZodObject).optional(),
    body: z.instanceof(z.ZodType).optional(),
  }),
});

const toRoutes = (surface: Surface, routes: readonly unknown[]): Route[] =>
  routes.map((route) => {
    const { method, path, hooks } = routeForm.parse(route);
    const body = toSchema(hooks.body);
    const parameters = toSchema(hooks.query);
    return {
      surface,
      method,
      path: path.replace("*", ":asset"),
      query: Object.keys(hooks.query?.shape ?? {}),
      ...(parameters === undefined ? {} : { parameters }),
      ...(body === undefined ? {} : { body }),
      validators: { parameters: hooks.query, body: hooks.body },
    };
  });

const toSchema = (type: z.ZodType | undefined): BodySchema | undefined =>
  // Zod's output fits this type; other properties are not read.
  type && (z.toJSONSchema(type, { unrepresentable: "any", io: "input" }) as BodySchema);

const get = (surface: Surface, path: string, query: string[] = []): Route => ({
  surface,
  method: "GET",
  path,
  query,
});

/**
 * Listeners without a list of routes: the redirector decides on any path, the others have few
 * paths.
 */
const OTHERS: readonly Route[] = [
  get("redirector", "/"),
  get("redirector", "/robots.txt"),
  get("redirector", "/favicon.ico"),
  get("redirector", "/healthz"),
  get("redirector", "/:plain", ["utm_source"]),
  get("redirector", "/:forwarding", ["utm_source", "q"]),
  get("redirector", "/:protected"),
  { ...get("redirector", "/:protected"), method: "POST" },
  { ...get("redirector", "/:plain"), method: "HEAD" },
  get("redirector", "/:missing"),
  get("redirector", "/:nested/:path"),
  ...(["api internal", "redirector internal", "worker internal"] as const).flatMap((surface) => [
    get(surface, "/healthz"),
    get(surface, "/readyz"),
    get(surface, "/metrics"),
    get(surface, "/:other"),
  ]),
  get("api internal", "/domains/ask", ["domain"]),
  get("clickhouse", "/ping"),
  get("clickhouse", "/", ["query", "database", "param_a", "default_format"]),
  { ...get("clickhouse", "/", ["query", "max_threads"]), method: "POST" },
];

const port = (url: string): number => Number(new URL(url).port);

/** The ports of a stack's listeners. */
export function readPorts(stack: SharedStack): Record<Surface, number> {
  const info = stack.info();
  return {
    api: port(info.api_url),
    dashboard: port(info.dashboard_url),
    redirector: port(info.short_url),
    "api internal": port(info.api_metrics_url),
    "redirector internal": port(info.redirector_metrics_url),
    "worker internal": port(info.worker_metrics_url),
    clickhouse: port(info.clickhouse_url),
  };
}
