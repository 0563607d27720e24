/**
 * Generates the OpenAPI 3.1 document from the schemas that validate requests and responses. Its
 * texts and examples have placeholders of addresses, which an installation replaces by its own, so
 * that no text tells a client to send a key to another site.
 */
import * as z from "zod";
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiOverride,
} from "zod-openapi";

import type { Schema } from "../../shared/contracts/json-schema.ts";
import { components, errorResponseComponents } from "./components.ts";
import guide from "./guide.md" with { type: "text" };
import { clickEvent, describeOperation, type Route, routeSchema } from "./operations.ts";

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
  "`$API_URL` is the address of the API: what your browser shows before `/docs` there.\n\n```sh";

/**
 * Replaces the placeholder in the guide. Its commands work unchanged, or after the variable is set.
 */
const addressGuide = (guide: string, { apiUrl }: Addresses): string =>
  apiUrl === undefined
    ? guide.replace("```sh", UNKNOWN_API_NOTE).replaceAll(PLACEHOLDERS.apiUrl, UNKNOWN_API_URL)
    : guide;

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

const INT32_MAX = 2 ** 31 - 1;

/** Lets responses gain fields. Requests, which are strict objects, reject unknown ones. */
const allowMoreFields: ZodOpenApiOverride = ({ zodSchema, jsonSchema }) => {
  if (zodSchema instanceof z.ZodObject && zodSchema.def.catchall === undefined)
    delete jsonSchema.additionalProperties;
};

/**
 * Changes a document in place. It must be complete: while zod generates it, a schema that others
 * share can lack what it inherits.
 */
function refineDocument(document: DocumentObject): void {
  for (const schema of Object.values(document.components.schemas)) {
    visitSchema(schema, refineSchema);
    // The example of a body stands beside its schema (operations.ts).
    delete schema.examples;
  }
  for (const methods of Object.values(document.paths))
    for (const { parameters = [] } of Object.values(methods)) parameters.forEach(refineParameter);
}

/** A description stands at the parameter, not at its schema as well. */
function refineParameter(parameter: ParameterObject): void {
  const { schema } = parameter;
  if (schema === undefined) return;
  visitSchema(schema, refineSchema);
  addExample(schema);
  if (schema.description !== undefined) parameter.description ??= schema.description;
  delete schema.description;
}

function refineSchema(schema: Schema): void {
  // zod repeats this of an object that has a description of its own beside the reference.
  if (schema.$ref !== undefined) delete schema.additionalProperties;
  mergeNull(schema);
  // Without our own bounds, zod writes those of JavaScript. The API has no negative counts.
  if (schema.type === "integer") {
    if (schema.minimum === Number.MIN_SAFE_INTEGER) schema.minimum = 0;
    schema.format = (schema.maximum ?? Infinity) <= INT32_MAX ? "int32" : "int64";
  }
  // The format implies the pattern.
  if (schema.format === "date-time") delete schema.pattern;
  for (const field of Object.values(schema.properties ?? {})) addExample(field);
}

/** Converts `anyOf: [X, null]` to X with null among its types. */
function mergeNull(schema: Schema): void {
  const [first, second, ...others] = schema.anyOf ?? [];
  if (second?.type !== "null" || others.length > 0) return;
  if (first === undefined || typeof first.type !== "string" || first.enum !== undefined) return;
  const { anyOf: _, ...own } = schema;
  delete schema.anyOf;
  Object.assign(schema, first, own, { type: [first.type, "null"] });
}

/** Adds an example to a field or parameter that has none, if its schema provides one. */
function addExample(schema: Schema): void {
  if (schema.$ref !== undefined || schema.type === "object") return;
  const example = schema.default ?? schema.const ?? schema.enum?.[0];
  if (example !== undefined) schema.examples ??= [example];
}

type ParameterObject = { description?: string; schema?: Schema };

/** The part of an OpenAPI document that is read and changed here, as plain JSON. */
type DocumentObject = {
  paths: Record<string, Record<string, { parameters?: ParameterObject[] }>>;
  components: { schemas: Record<string, Schema> };
};

/** The direct subschemas of a schema. */
const childrenOf = (schema: Schema): Schema[] => [
  ...Object.values(schema.properties ?? {}),
  ...(schema.items === undefined ? [] : [schema.items]),
  ...(schema.anyOf ?? []),
  ...(schema.oneOf ?? []),
  ...(typeof schema.additionalProperties === "object" ? [schema.additionalProperties] : []),
];

/** Calls `visit` for a schema after all its subschemas. */
function visitSchema(schema: Schema, visit: (schema: Schema) => void): void {
  for (const child of childrenOf(schema)) visitSchema(child, visit);
  visit(schema);
}
