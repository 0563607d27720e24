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
  maxLength?: number;
  maxItems?: number;
  properties?: Record<string, SchemaObject>;
  additionalProperties?: boolean | SchemaObject;
  items?: SchemaObject;
  anyOf?: SchemaObject[];
  oneOf?: SchemaObject[];
  allOf?: SchemaObject[];
  "x-extensible-enum"?: readonly string[];
};

type Media = { schema?: SchemaObject; example?: unknown };

export type ParameterObject = {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: SchemaObject;
};

type ResponseObject = { $ref?: string; content?: Record<string, Media> };

export type OperationObject = {
  operationId: string;
  description?: string;
  parameters?: ParameterObject[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, ResponseObject>;
};

export type DocumentObject = {
  paths: Record<string, Record<string, OperationObject>>;
  components: {
    schemas: Record<string, SchemaObject>;
    responses: Record<string, ResponseObject>;
  };
};

/** All operations of a document. */
export const listOperations = (document: DocumentObject): OperationObject[] =>
  Object.values(document.paths).flatMap((methods) => Object.values(methods));

/** The direct subschemas of a schema. */
const childrenOf = (schema: SchemaObject): SchemaObject[] => [
  ...Object.values(schema.properties ?? {}),
  ...(schema.items === undefined ? [] : [schema.items]),
  ...(schema.anyOf ?? []),
  ...(schema.oneOf ?? []),
  ...(schema.allOf ?? []),
  ...(typeof schema.additionalProperties === "object" ? [schema.additionalProperties] : []),
];

/** Calls `visit` for a schema after all its subschemas. */
export function visitSchema(schema: SchemaObject, visit: (schema: SchemaObject) => void): void {
  for (const child of childrenOf(schema)) visitSchema(child, visit);
  visit(schema);
}

/** The schemas of all media types of a request body or response. */
export const schemasOf = (body: { content?: Record<string, Media> } | undefined): SchemaObject[] =>
  Object.values(body?.content ?? {}).flatMap(({ schema }) =>
    schema === undefined ? [] : [schema],
  );

/** All top-level schemas of a document. */
export const listRootSchemas = (document: DocumentObject): SchemaObject[] => [
  ...Object.values(document.components.schemas),
  ...listOperations(document).flatMap(({ parameters = [], requestBody, responses }) => [
    ...parameters.flatMap(({ schema }) => (schema === undefined ? [] : [schema])),
    ...schemasOf(requestBody),
    ...Object.values(responses).flatMap(schemasOf),
  ]),
];
