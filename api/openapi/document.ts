/**
 * Generates the OpenAPI 3.1 document from the schemas that validate requests and responses. Its
 * texts and examples have placeholders of addresses, which an installation replaces by its own, so
 * that no text tells a client to send a key to another site.
 */
import { createDocument, type ZodOpenApiOperationObject } from "zod-openapi";

import { components, errorResponseComponents } from "./components.ts";
import guide from "./guide.md" with { type: "text" };
import { clickEvent } from "./non-json-responses.ts";
import { describeOperation, type Route, routeSchema } from "./operations.ts";
import { allowMoreFields, type DocumentObject, refineDocument } from "./refine.ts";

const TAGS = [
  { name: "Links", description: "Short links and their destinations." },
  { name: "Tags", description: "Labels of links, with their colours." },
  { name: "Analytics", description: "Clicks by time, location, device and referrer." },
  { name: "Views", description: "Saved views of analytics, filters of links, UTM templates." },
  { name: "Events", description: "What happened to what an account owns, in one order." },
  { name: "Webhooks", description: "URLs that events are posted to, and what came of it." },
  { name: "Reports", description: "Statistics that are made every week or month." },
  { name: "Shares", description: "Statistics for people without an account." },
  {
    name: "Branding",
    description: "How shared statistics present the account, and how its QR codes look.",
  },
  { name: "Domains", description: "Custom domains for short links." },
  { name: "Keys", description: "API keys of the account." },
  { name: "Limits", description: "Rate limits, quotas and their current usage." },
];

/**
 * Describes all routes that are not hidden, of the installation at `addresses`; throws when a route
 * lacks a declaration.
 */
export function describeApi(routes: readonly unknown[], version: string, addresses: Addresses) {
  const described = routes
    .map((route) => routeSchema.parse(route))
    .filter(({ hooks }) => hooks.detail.hide !== true);
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  for (const route of described) {
    const path = (paths[toOpenApiPath(route)] ??= {});
    path[route.method.toLowerCase()] = describeOperation(route);
  }
  const document = createDocument(
    {
      openapi: "3.1.1",
      info: {
        title: "Shorthop API",
        version,
        description: addressGuide(guide, addresses),
        contact: { name: "The operator of this service" },
        license: { name: "MIT", identifier: "MIT" },
      },
      servers: [
        {
          url: addresses.apiUrl ?? "/",
          description: "Production: the service that you read this from",
          "x-internal": false,
        },
      ],
      tags: TAGS,
      paths,
      components: {
        ...components,
        schemas: { ClickEvent: clickEvent },
        responses: errorResponseComponents(),
      },
    },
    { override: allowMoreFields },
  );
  // The same JSON, typed by the part of OpenAPI that the refinement needs.
  refineDocument(document as unknown as DocumentObject);
  return addressDocument(document, addresses);
}

const toOpenApiPath = ({ path }: Route): string => path.replaceAll(/:(\w+)/g, "{$1}");

export type Addresses = {
  /** The origin of the API; undefined when it is not configured. */
  apiUrl: string | undefined;
  /** The origin of short links. */
  shortUrl: string;
};

/**
 * Placeholders for the addresses in texts and examples: a domain that nobody can own (RFC 2606).
 */
export const PLACEHOLDERS = {
  apiUrl: "https://api.example.com",
  shortUrl: "https://short.example.com",
} as const;

const SHORT_HOST = new URL(PLACEHOLDERS.shortUrl).host;

/**
 * For an installation without a configured API URL: the Host header of a request is not
 * trustworthy.
 */
const UNKNOWN_API_URL = "$API_URL";
const UNKNOWN_API_NOTE =
  "`$API_URL` is the address of this site: what your browser shows before `/docs`.\n\n```sh";

/**
 * Replaces the placeholder in the guide. Its commands work unchanged, or after the variable is set.
 */
const addressGuide = (guide: string, { apiUrl }: Addresses): string =>
  apiUrl === undefined
    ? guide.replace("```sh", UNKNOWN_API_NOTE).replaceAll(PLACEHOLDERS.apiUrl, UNKNOWN_API_URL)
    : guide;

/** Replaces the placeholders in all texts of a document. */
function addressDocument<Document>(document: Document, addresses: Addresses): Document {
  const { apiUrl = PLACEHOLDERS.apiUrl, shortUrl } = addresses;
  const replace = (text: string): string =>
    text
      .replaceAll(PLACEHOLDERS.apiUrl, apiUrl)
      .replaceAll(PLACEHOLDERS.shortUrl, shortUrl)
      .replaceAll(SHORT_HOST, new URL(shortUrl).host);
  return JSON.parse(JSON.stringify(document), (_, value: unknown) =>
    typeof value === "string" ? replace(value) : value,
  );
}
