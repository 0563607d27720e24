/** Makes the generated document readable: named schemas, open responses, descriptions and examples. */
import { describeFields, describeRequest } from "./describing.ts";
import { normalizeSchema } from "./normalize.ts";
import {
  type DocumentObject,
  listOperations,
  listRootSchemas,
  type SchemaObject,
  schemasOf,
  visitSchema,
} from "./schema-object.ts";

const PREFIX = "#/components/schemas/";

/** Changes a document in place. */
export function refineDocument(document: DocumentObject): void {
  for (const schema of listRootSchemas(document)) visitSchema(schema, normalizeSchema);
  openResponses(document);
  for (const schema of Object.values(document.components.schemas)) {
    describeFields(schema);
    // The example of a body stands beside its schema (operations.ts).
    delete schema.examples;
  }
  for (const operation of listOperations(document)) describeRequest(operation);
}

/** Responses may gain fields; requests with unknown fields are rejected. */
function openResponses(document: DocumentObject): void {
  const { schemas } = document.components;
  const requests = new Set<SchemaObject>();
  const collect = (schema: SchemaObject): void =>
    visitSchema(schema, (each) => {
      const named = each.$ref === undefined ? undefined : schemas[each.$ref.slice(PREFIX.length)];
      if (named !== undefined && !requests.has(named)) collect(named);
      requests.add(each);
    });
  for (const { requestBody } of listOperations(document)) schemasOf(requestBody).forEach(collect);
  for (const schema of listRootSchemas(document)) {
    visitSchema(schema, (each) => {
      if (each.additionalProperties === false && !requests.has(each))
        delete each.additionalProperties;
    });
  }
}
