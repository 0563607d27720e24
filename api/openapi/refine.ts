/** Rewrites zod's output in the form that readers and generators of clients expect. */
import * as z from "zod";
import type { ZodOpenApiOverride } from "zod-openapi";

const INT32_MAX = 2 ** 31 - 1;

/** Lets responses gain fields. Requests, which are strict objects, reject unknown ones. */
export const allowMoreFields: ZodOpenApiOverride = ({ zodSchema, jsonSchema }) => {
  if (zodSchema instanceof z.ZodObject && zodSchema.def.catchall === undefined)
    delete jsonSchema.additionalProperties;
};

/**
 * Changes a document in place. It must be complete: while zod generates it, a schema that others
 * share can lack what it inherits.
 */
export function refineDocument(document: DocumentObject): void {
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

function refineSchema(schema: SchemaObject): void {
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
function mergeNull(schema: SchemaObject): void {
  const [first, second, ...others] = schema.anyOf ?? [];
  if (second?.type !== "null" || others.length > 0) return;
  if (first === undefined || typeof first.type !== "string" || first.enum !== undefined) return;
  const { anyOf: _, ...own } = schema;
  delete schema.anyOf;
  Object.assign(schema, first, own, { type: [first.type, "null"] });
}

/** Adds an example to a field or parameter that has none, if its schema provides one. */
function addExample(schema: SchemaObject): void {
  if (schema.$ref !== undefined || schema.type === "object") return;
  const example = schema.default ?? schema.const ?? schema.enum?.[0];
  if (example !== undefined) schema.examples ??= [example];
}

/** A schema of JSON Schema 2020-12, as OpenAPI 3.1 uses it. */
type SchemaObject = {
  $ref?: string;
  type?: string | string[];
  description?: string;
  examples?: unknown[];
  default?: unknown;
  enum?: unknown[];
  const?: unknown;
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  properties?: Record<string, SchemaObject>;
  additionalProperties?: boolean | SchemaObject;
  items?: SchemaObject;
  anyOf?: SchemaObject[];
  oneOf?: SchemaObject[];
};

type ParameterObject = { description?: string; schema?: SchemaObject };

/** The part of an OpenAPI document that is read and changed here, as plain JSON. */
export type DocumentObject = {
  paths: Record<string, Record<string, { parameters?: ParameterObject[] }>>;
  components: { schemas: Record<string, SchemaObject> };
};

/** The direct subschemas of a schema. */
const childrenOf = (schema: SchemaObject): SchemaObject[] => [
  ...Object.values(schema.properties ?? {}),
  ...(schema.items === undefined ? [] : [schema.items]),
  ...(schema.anyOf ?? []),
  ...(schema.oneOf ?? []),
  ...(typeof schema.additionalProperties === "object" ? [schema.additionalProperties] : []),
];

/** Calls `visit` for a schema after all its subschemas. */
function visitSchema(schema: SchemaObject, visit: (schema: SchemaObject) => void): void {
  for (const child of childrenOf(schema)) visitSchema(child, visit);
  visit(schema);
}
