/** The part of an OpenAPI document that its refinement reads and changes, as plain JSON. */

/** A schema of JSON Schema 2020-12, as OpenAPI 3.1 uses it. */
export type SchemaObject = {
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

export type ParameterObject = { description?: string; schema?: SchemaObject };

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
export function visitSchema(schema: SchemaObject, visit: (schema: SchemaObject) => void): void {
  for (const child of childrenOf(schema)) visitSchema(child, visit);
  visit(schema);
}
