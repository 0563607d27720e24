/** Schemas as our OpenAPI document has them: by JSON Schema 2020-12, objects by their names. */
import * as z from "zod";

/** The object of a request, without other fields, by its name in the document. */
export const strictComponent = <Shape extends z.ZodRawShape>(
  id: string,
  description: string,
  shape: Shape,
) => z.strictObject(shape).meta({ id, description });

export type Schema = {
  $ref?: string;
  type?: string | string[];
  description?: string;
  examples?: unknown[];
  default?: unknown;
  format?: string;
  pattern?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: Schema | boolean;
  enum?: unknown[];
  const?: unknown;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  maxItems?: number;
  anyOf?: Schema[];
  oneOf?: Schema[];
};
