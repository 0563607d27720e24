/** Rewrites zod's output in the form that readers and generators expect. */
import type { SchemaObject } from "./schema-object.ts";

const INT32_MAX = 2 ** 31 - 1;

/** Changes a schema in place. */
export function normalizeSchema(schema: SchemaObject): void {
  mergeNull(schema);
  // Without our own bounds, zod writes those of JavaScript. The API has no negative counts.
  if (schema.type === "integer") {
    if (schema.minimum === Number.MIN_SAFE_INTEGER) schema.minimum = 0;
    schema.format = (schema.maximum ?? Infinity) <= INT32_MAX ? "int32" : "int64";
  }
  // The format implies the pattern.
  if (schema.format === "date-time") delete schema.pattern;
  if (schema.const !== undefined && schema.type === undefined) schema.type = typeof schema.const;
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
