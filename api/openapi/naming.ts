/**
 * Names the schemas of a document, so that generated clients have named types and each schema is
 * documented once. Equal schemas share one name.
 */
import { isDeepStrictEqual } from "node:util";

import {
  type DocumentObject,
  listOperations,
  type OperationObject,
  type SchemaObject,
  visitSchema,
} from "./schema-object.ts";

/** Names of bodies, by operation; the others are named after their operation. */
const RESPONSES: Readonly<Record<string, string>> = {
  listLinks: "LinkList",
  deleteLink: "Confirmation",
  getLinkAnalytics: "LinkSummary",
  getLinkGeo: "LinkGeo",
  getLinkDevices: "LinkDevices",
  getLinkReferrers: "LinkReferrers",
  getLinkTargets: "LinkTargets",
  getAccountAnalytics: "AccountSummary",
  getAccountGeo: "AccountGeo",
  getAccountDevices: "AccountDevices",
  getAccountReferrers: "AccountReferrers",
  getLinkBreakdown: "LinkBreakdown",
  getAccountBreakdown: "AccountBreakdown",
  getLinkTimes: "LinkTimes",
  getAccountTimes: "AccountTimes",
  listClicks: "ListedClicks",
  getFailures: "Failures",
  getBulkAnalytics: "BulkAnalytics",
  listDomains: "DomainList",
  deleteDomain: "Confirmation",
  createApiKey: "ApiKeyWithValue",
  rotateApiKey: "ApiKeyWithValue",
  getApiKey: "ApiKey",
  revokeApiKey: "Confirmation",
  revokeShare: "Confirmation",
  getLimits: "Limits",
};

const REQUESTS: Readonly<Record<string, string>> = {
  getBulkAnalytics: "BulkAnalyticsQuery",
  createDomain: "NewDomain",
  createApiKey: "NewApiKey",
  rotateApiKey: "KeyRotation",
  createShare: "NewShare",
  updateShare: "ShareChange",
  updateTag: "TagChange",
  updateBranding: "BrandingChange",
  unlockSharedStatistics: "SharePassword",
};

/** Names of nested objects, by the field that contains them or a list of them. */
const FIELDS: Readonly<Record<string, string>> = {
  pagination: "Pagination",
  summary: "ClickTotals",
  clicks_over_time: "ClicksAtTime",
  top_links: "TopLink",
  devices: "DeviceClicks",
  browsers: "NamedClicks",
  os: "NamedClicks",
  referrers: "ReferrerClicks",
  verification: "DnsRecord",
  routing: "RoutingRecord",
  limits: "RateLimit",
  quotas: "Quota",
  details: "ErrorDetail",
  qr_style: "QrStyle",
};

/** Moves the schemas of bodies, and named objects within them, into the document's components. */
export function nameSchemas(document: DocumentObject): void {
  const { schemas } = document.components;
  for (const operation of listOperations(document)) nameBodies(operation, schemas);
  // Iterates over a copy, because named objects are added to the components meanwhile.
  for (const schema of Object.values({ ...schemas })) {
    visitSchema(schema, ({ properties = {} }) => {
      for (const [field, child] of Object.entries(properties)) nameField(field, child, schemas);
    });
  }
}

function nameBodies(
  { operationId, requestBody, responses }: OperationObject,
  schemas: Record<string, SchemaObject>,
): void {
  const fallback = operationId.charAt(0).toUpperCase() + operationId.slice(1);
  const request = requestBody?.content["application/json"];
  if (request?.schema !== undefined) {
    const name = REQUESTS[operationId] ?? `${fallback}Request`;
    request.schema = moveSchema(name, request.schema, schemas);
  }
  for (const [status, { content }] of Object.entries(responses)) {
    const media = content?.["application/json"];
    if (!status.startsWith("2") || media?.schema === undefined) continue;
    const name = RESPONSES[operationId] ?? `${fallback}Response`;
    media.schema = moveSchema(name, media.schema, schemas);
  }
}

function nameField(
  field: string,
  schema: SchemaObject,
  schemas: Record<string, SchemaObject>,
): void {
  const name = FIELDS[field];
  if (name === undefined) return;
  if (schema.type === "object") {
    const moved = moveSchema(name, { ...schema }, schemas);
    for (const key of Object.keys(schema)) Reflect.deleteProperty(schema, key);
    Object.assign(schema, moved);
  } else if (schema.items?.type === "object") {
    schema.items = moveSchema(name, schema.items, schemas);
  }
}

/**
 * Adds a schema to the components and returns a reference. Keeps a schema in place if another one
 * has its name.
 */
function moveSchema(
  name: string,
  schema: SchemaObject,
  schemas: Record<string, SchemaObject>,
): SchemaObject {
  if (schema.$ref !== undefined) return schema;
  const existing = schemas[name];
  if (existing !== undefined && !isDeepStrictEqual(existing, schema)) return schema;
  schemas[name] = schema;
  return { $ref: `#/components/schemas/${name}` };
}
