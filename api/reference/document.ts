/** The OpenAPI 3.1 document of the API, made from the very schemas that validate. */
import { createDocument } from "zod-openapi";

import { components } from "./components.ts";
import { operationOf, type Route, routeForm } from "./operations.ts";

const DESCRIPTION = `Short links and their click analytics.

Requests and answers are JSON in UTF-8; timestamps are ISO 8601 in UTC. Every error has one form,
\`{"error": {"code", "message"}}\`; codes are stable. Answers may gain fields.`;

const TAGS = [
  { name: "Links", description: "Short links and where they lead." },
  { name: "Analytics", description: "Clicks by time, place, device and referrer." },
  { name: "Domains", description: "Custom domains for short links." },
  { name: "Keys", description: "API keys of the account." },
  { name: "Limits", description: "Rate limits and their state." },
];

/** Describes the routes under `/v1`; throws when one declares too little to be described. */
export function createReference(routes: readonly unknown[], version: string) {
  const described = routes
    .map((route) => routeForm.parse(route))
    .filter(({ hooks }) => hooks.detail.hide !== true);
  const paths: Record<string, Record<string, ReturnType<typeof operationOf>>> = {};
  for (const route of described) {
    const path = (paths[pathOf(route)] ??= {});
    path[route.method.toLowerCase()] = operationOf(route);
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

const pathOf = ({ path }: Route): string => path.replaceAll(/:(\w+)/g, "{$1}");
