/** Adds the descriptions and examples of `prose` to fields and parameters that have none. */
import { PARAMETERS } from "./prose/parameters.ts";
import { REQUEST_EXAMPLES } from "./prose/request-examples.ts";
import { SCHEMAS } from "./prose/schemas.ts";
import type { Prose } from "./prose/types.ts";
import type { OperationObject, ParameterObject, SchemaObject } from "./schema-object.ts";

/** Describes a component and all fields in it. */
export function describeSchema(name: string, schema: SchemaObject): void {
  schema.description ??= SCHEMAS[name] ?? "";
  if (schema.description === "") delete schema.description;
  describeFields(schema);
}

/** Describes the fields of a schema; nested objects use the same prose. */
function describeFields(schema: SchemaObject): void {
  for (const child of Object.values(schema.properties ?? {})) {
    addProse(child, undefined);
    describeFields(child);
  }
  for (const part of [
    ...(schema.items === undefined ? [] : [schema.items]),
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
  ]) {
    describeFields(part);
  }
}

function addProse(schema: SchemaObject, prose: Prose | undefined): void {
  if (schema.description === undefined && prose !== undefined) schema.description = prose.text;
  if (!isPlain(schema)) return;
  const example = prose?.example === undefined ? deriveExample(schema) : prose.example;
  if (example !== undefined) schema.examples ??= [example];
}

/** Derives an example from the schema itself. */
function deriveExample(schema: SchemaObject): unknown {
  return schema.default ?? schema.const ?? schema.enum?.[0];
}

/** Objects and lists of objects get their examples from their fields. */
const isPlain = ({ $ref, type, items }: SchemaObject): boolean =>
  $ref === undefined &&
  type !== "object" &&
  (items === undefined || items.type !== "object") &&
  items?.$ref === undefined &&
  items?.anyOf === undefined;

/** Describes the parameters of an operation, and adds an example to its body. */
export function describeRequest({
  operationId,
  parameters = [],
  requestBody,
}: OperationObject): void {
  const body = requestBody?.content["application/json"];
  const example = REQUEST_EXAMPLES[operationId];
  if (body !== undefined && example !== undefined) body.example = example;
  for (const parameter of parameters) {
    const prose = PARAMETERS[`${operationId}.${parameter.name}`] ?? PARAMETERS[parameter.name];
    describeParameter(parameter, prose);
  }
}

function describeParameter(parameter: ParameterObject, prose: Prose | undefined): void {
  const { schema } = parameter;
  if (schema === undefined) return;
  addProse(schema, prose);
  parameter.description ??= schema.description ?? "";
  // The parameter has the same description.
  delete schema.description;
}
