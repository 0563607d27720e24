/** Generates the OpenAPI 3.1 document from the schemas that validate requests and responses. */
import { createDocument } from "zod-openapi";

import { components } from "./components.ts";
import { describeOperation, type Route, routeSchema } from "./operations.ts";

const DESCRIPTION = `Short links and their click analytics.

Requests and responses are JSON in UTF-8; timestamps are ISO 8601 in UTC. Every error has the form
\`{"error": {"code", "message"}}\`; codes are stable. Future versions may add fields to responses.`;

const TAGS = [
  { name: "Links", description: "Short links and their destinations." },
  { name: "Analytics", description: "Clicks by time, location, device and referrer." },
  { name: "Domains", description: "Custom domains for short links." },
  { name: "Keys", description: "API keys of the account." },
  { name: "Limits", description: "Rate limits, quotas and their current usage." },
];

/** Describes all routes that are not hidden; throws when a route lacks a declaration. */
export function createOpenApiDocument(routes: readonly unknown[], version: string) {
  const described = routes
    .map((route) => routeSchema.parse(route))
    .filter(({ hooks }) => hooks.detail.hide !== true);
  const paths: Record<string, Record<string, ReturnType<typeof describeOperation>>> = {};
  for (const route of described) {
    const path = (paths[toOpenApiPath(route)] ??= {});
    path[route.method.toLowerCase()] = describeOperation(route);
  }
  return createDocument({
    openapi: "3.1.1",
    info: {
      title: "Shorthop API",
      version,
      description: DESCRIPTION,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    tags: TAGS,
    paths,
    components,
  });
}

const toOpenApiPath = ({ path }: Route): string => path.replaceAll(/:(\w+)/g, "{$1}");
