/** Adds the descriptions and examples of `prose` to fields and parameters that have none. */
import { REQUEST_EXAMPLES } from "./prose/request-examples.ts";
import type { OperationObject, ParameterObject, SchemaObject } from "./schema-object.ts";

/** Adds examples to the fields of a schema. */
export function describeFields(schema: SchemaObject): void {
  for (const child of Object.values(schema.properties ?? {})) {
    addExample(child);
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

function addExample(schema: SchemaObject): void {
  if (!isPlain(schema)) return;
  const example = deriveExample(schema);
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
    describeParameter(parameter);
  }
}

function describeParameter(parameter: ParameterObject): void {
  const { schema } = parameter;
  if (schema === undefined) return;
  addExample(schema);
  parameter.description ??= schema.description ?? "";
  // The parameter has the same description.
  delete schema.description;
}
