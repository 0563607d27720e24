/** A schema of JSON Schema 2020-12, as our OpenAPI document has it. */
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
